printf abc
