init-if-undefined 5
