#include "case.h"
namespace stowage::campaign {
void draw_net(Case& drawn) { draw_layers(drawn); }
}  // namespace stowage::campaign
