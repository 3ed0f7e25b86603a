if
end
