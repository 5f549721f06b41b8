// A stand-in for the storage of NeuG, in which an undirected edge is stored once: what its algorithms read of a graph, as a plain
// CSR. Their sources, of a clone, follow behind this text (compiled.py), up to where they fill a table of the database. So the
// times are those of the algorithms, without the storage.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace neug {

using vid_t = uint32_t;
using label_t = uint8_t;

struct LabelTriplet {
    label_t src_label, dst_label, edge_label;
};

template <typename T>
using vector_t = std::vector<T>;

struct Edges {
    const vid_t *first, *last;
    const vid_t* begin() const { return first; }
    const vid_t* end() const { return last; }
};

struct CsrView {
    const int64_t* offsets;
    const vid_t* heads;
    Edges get_edges(vid_t vertex) const { return {heads + offsets[vertex], heads + offsets[vertex + 1]}; }
};

struct VertexSet {
    size_t count;
    struct Place {
        vid_t vertex;
        vid_t operator*() const { return vertex; }
        void operator++() { ++vertex; }
        bool operator!=(const Place& other) const { return vertex != other.vertex; }
    };
    size_t size() const { return count; }
    bool valid(size_t) const { return true; }
    Place begin() const { return {0}; }
    Place end() const { return {static_cast<vid_t>(count)}; }
};

struct RefColumnBase {
    virtual ~RefColumnBase() = default;
};

template <typename T>
struct TypedRefColumn : RefColumnBase {
    T get_view(vid_t vertex) const { return vertex; }
};

struct StorageReadInterface {
    size_t count;
    CsrView out, into;
    VertexSet GetVertexSet(label_t) const { return {count}; }
    CsrView GetGenericOutgoingGraphView(label_t, label_t, label_t) const { return out; }
    CsrView GetGenericIncomingGraphView(label_t, label_t, label_t) const { return into; }
    std::shared_ptr<RefColumnBase> GetVertexPropColumn(label_t, const std::string&) const {
        return std::make_shared<TypedRefColumn<int64_t>>();
    }
};

namespace execution {
class Context;
}

}  // namespace neug

#define private public  // to read the answers
// THE ALGORITHMS
#undef private

template <typename T>
std::vector<T> read(FILE* file, size_t count) {
    std::vector<T> values(count);
    if (fread(values.data(), sizeof(T), count, file) != count) exit(2);
    return values;
}

template <typename T>
void write(const std::string& path, const T* values, size_t count) {
    FILE* file = fopen(path.c_str(), "wb");
    if (!file || fwrite(values, sizeof(T), count, file) != count || fclose(file)) exit(3);
}

template <typename Make, typename Take>
void measure(const char* name, int runs, Make make, Take take) {
    for (int run = 0; run < runs; ++run) {
        const auto begin = std::chrono::steady_clock::now();
        auto algorithm = make();
        algorithm->compute();
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        printf("%s %.9f\n", name, seconds.count());
        if (run + 1 == runs) take(*algorithm);
    }
}

// GRAPH OUT SOURCE ITERATIONS THREADS RUNS
int main(int, char** given) {
    using namespace neug;
    using namespace neug::gds;
    FILE* file = fopen(given[1], "rb");
    if (!file) return 1;
    const auto sizes = read<int64_t>(file, 2);
    const size_t count = sizes[0], edges = sizes[1];
    const auto offsets = read<int64_t>(file, count + 1);
    const auto heads = read<vid_t>(file, edges);
    const auto into_offsets = read<int64_t>(file, count + 1);
    const auto tails = read<vid_t>(file, edges);
    const StorageReadInterface graph{count, {offsets.data(), heads.data()}, {into_offsets.data(), tails.data()}};
    const std::string out = std::string(given[2]) + "/";
    const vid_t source = atoi(given[3]);
    const int iterations = atoi(given[4]), threads = atoi(given[5]), runs = atoi(given[6]);
    const LabelTriplet triplet{0, 0, 0};
    measure(
        "bfs", runs, [&] { return std::make_unique<BFS>(graph, 0, 0, source, false, threads); },
        [&](BFS& of) { write(out + "bfs.u4", of.distances_.get(), count); });
    measure(
        "wcc", runs, [&] { return std::make_unique<WCC>(graph, 0, 0, threads); },
        [&](WCC& of) { write(out + "wcc.i8", of.comps_.get(), count); });
    measure(
        "cdlp", runs, [&] { return std::make_unique<CDLP>(graph, 0, triplet, iterations, threads); },
        [&](CDLP& of) { write(out + "cdlp.i8", of.community_.get(), count); });
    measure(
        "lcc", runs, [&] { return std::make_unique<LCCUndirected>(graph, 0, 0, std::numeric_limits<int32_t>::max(), threads); },
        [&](LCCUndirected& of) { write(out + "lcc.f8", of.lcc_.get(), count); });
}
