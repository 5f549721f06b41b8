// The one declaration of cuGraph that doubleGraph's headers name; its kernels use none of it.
#pragma once

namespace cugraph {
template <typename Vertex, typename Edge, bool Transposed, bool Multiple>
class graph_view_t;
}
