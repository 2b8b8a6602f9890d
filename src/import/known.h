#pragma once

#include "operators/dims.h"
#include "operators/known.h"

/// What importers know of tensors is what rules of operators ask for, in the same words.
namespace stowage::import {

namespace element = operators::element;
using operators::axes_in;
using operators::axis_in;
using operators::broadcast_dims;
using operators::common_dims;
using operators::common_type;
using operators::concrete_shape;
using operators::Dim;
using operators::dim_at;
using operators::Dims;
using operators::Misfit;
using operators::misfit;
using operators::product_of;
using operators::quotient;
using operators::same_dim;
using operators::sum_of;
using operators::taken;
using operators::tensor_type;
using operators::Type;
using operators::type_around;
using operators::Value;

}  // namespace stowage::import
