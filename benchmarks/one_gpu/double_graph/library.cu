// doubleGraph's functions for graphs whose vertices descend by degree, with C linkage. Each returns after the GPU has finished.
#include <cugraph/aai/algorithms.hpp>

namespace {
aai::graph32_t graph_of(const int* offsets, const int* indices, const int* segments, bool symmetric, bool transposed) {
    int vertices = segments[4];
    int arcs;
    cudaMemcpy(&arcs, offsets + vertices, sizeof arcs, cudaMemcpyDeviceToHost);
    aai::graph32_t graph{};
    graph.offsets = offsets;
    graph.indices = indices;
    graph.number_of_vertices = vertices;
    graph.number_of_edges = arcs;
    graph.is_symmetric = symmetric;
    graph.is_csc = transposed;
    graph.segment_offsets = std::vector<int>(segments, segments + 5);
    return graph;
}

int finished() { return cudaDeviceSynchronize(); }
}  // namespace

extern "C" {
struct Prepared {
    aai::graph32_t graph;
};

// segments: 5 host integers, the first vertex of the degrees from 1024, from 32, from 1, of 0, and the number of vertices
void* prepare(const int* offsets, const int* indices, const int* segments, int symmetric, int transposed) {
    return new Prepared{graph_of(offsets, indices, segments, symmetric != 0, transposed != 0)};
}

void release(void* prepared) { delete static_cast<Prepared*>(prepared); }

int bfs(void* prepared, int optimising, const int* source, int* distances, int* predecessors) {
    const aai::graph32_t& graph = static_cast<Prepared*>(prepared)->graph;
    auto search = optimising ? aai::bfs_direction_optimizing_seg : aai::bfs_seg;
    search(graph, distances, predecessors, source, 1, 0x7FFFFFFF);
    return finished();
}

int sssp_float(void* prepared, const float* weights, int source, float* distances, int* predecessors) {
    aai::sssp_seg(static_cast<Prepared*>(prepared)->graph, weights, source, distances, predecessors, 3.0e38f);
    return finished();
}

int sssp_double(void* prepared, const double* weights, int source, double* distances, int* predecessors) {
    aai::sssp_seg(static_cast<Prepared*>(prepared)->graph, weights, source, distances, predecessors, 1.7e308);
    return finished();
}

long long forest_float(void* prepared, const float* weights, int* src, int* dst, float* found, long long most) {
    auto edges = aai::minimum_spanning_tree_seg(static_cast<Prepared*>(prepared)->graph, weights, src, dst, found, most);
    return finished() ? -1 : static_cast<long long>(edges);
}

long long forest_double(void* prepared, const double* weights, int* src, int* dst, double* found, long long most) {
    auto edges = aai::minimum_spanning_tree_seg(static_cast<Prepared*>(prepared)->graph, weights, src, dst, found, most);
    return finished() ? -1 : static_cast<long long>(edges);
}

int wcc(void* prepared, int* labels) {
    aai::weakly_connected_components_seg(static_cast<Prepared*>(prepared)->graph, labels);
    return finished();
}

int scc(void* prepared, int* labels) {
    aai::strongly_connected_components_seg(static_cast<Prepared*>(prepared)->graph, labels);
    return finished();
}

// epsilon 0, so that it stops after `iterations`
int pagerank(void* prepared, float* scores, float damping, long long iterations) {
    aai::pagerank_seg(static_cast<Prepared*>(prepared)->graph, scores, nullptr, damping, 0.0f, iterations, nullptr);
    return finished();
}
}
