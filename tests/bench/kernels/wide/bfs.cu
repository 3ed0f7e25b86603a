/* A step of a breadth-first search: neighbours of vertices of a level get the next one. */
KERNEL bfs(GLOBAL const int *starts, GLOBAL const int *edges, GLOBAL const int *from,
           GLOBAL int *to, int vertices, int level)
{
    int v = IX;
    if (v >= vertices || from[v] != level)
        return;
    for (int k = starts[v]; k < starts[v + 1]; k++)
        if (from[edges[k]] < 0)
            to[edges[k]] = level + 1;
}
