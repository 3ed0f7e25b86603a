alias nothing = nosuch
