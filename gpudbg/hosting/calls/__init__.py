"""What each call of a host program does, a family a module; `tables/` names them."""
