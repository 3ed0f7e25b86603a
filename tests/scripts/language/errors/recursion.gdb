define f
f
end
f
