document nope
end
