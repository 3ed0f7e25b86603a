# A picture that is dark along one edge: find the read with the wrong clamp.

# box_filter blurs the surface photo into blurred. What goes in looks right.
info surfaces
picture photo

# Run it. The left edge of the result fades to black, the right edge does not.
continue
picture blurred

# Who wrote that dark texel, and where does it lie?
info surfaces blurred 0 30

# Reads outside the picture, by instruction: one moves them to the nearest pixel (NEAR), the other
# takes zeros (IGN). Its lanes, and the line to mend:
info outside 1 IGN
list surface_clamp.cu:21
