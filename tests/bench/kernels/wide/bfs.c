void bfs(const int *restrict starts, const int *restrict edges, const int *restrict from,
         int *restrict to, int vertices, int level)
{
    for (int v = 0; v < vertices; v++)
        if (from[v] == level)
            for (int k = starts[v]; k < starts[v + 1]; k++)
                if (from[edges[k]] < 0)
                    to[edges[k]] = level + 1;
}
