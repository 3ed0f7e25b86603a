with print pretty on -- nosuch
print 1
