"""A GPU as its host sees it: buffers, textures, surfaces, arrays of other libraries."""
