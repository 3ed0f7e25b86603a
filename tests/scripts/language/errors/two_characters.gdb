print 'ab'
