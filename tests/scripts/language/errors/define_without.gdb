define
end
