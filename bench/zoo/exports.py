"""usage: exports.py FOLDER [--opsets 18,23] [NAME...]   networks as PyTorch exports them today

Writes networks of transformers, diffusers and one of our own, small and with random weights, with
torch.onnx.export(dynamo=True): FOLDER/NAME_OPSET.onnx. Those called *_dynamic have symbolic dimensions, and the weights
of some are external data. Needs bench/zoo/exports.txt; downloads nothing.
"""

import argparse
import pathlib
import sys
import traceback

import torch
import transformers
from torch import nn
from torch.export import Dim


class Only(nn.Module):
    """A network with the first of its results."""

    def __init__(self, network, **options):
        super().__init__()
        self.network = network
        self.options = options

    def forward(self, *inputs):
        return self.network(*inputs, return_dict=False, **self.options)[0]


def vit():
    config = transformers.ViTConfig(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
                                    image_size=64, patch_size=16)
    return Only(transformers.ViTModel(config)), (torch.randn(1, 3, 64, 64),), {}


def swin():
    config = transformers.SwinConfig(image_size=64, patch_size=4, embed_dim=24, depths=[2, 2], num_heads=[2, 4],
                                     window_size=4, attn_implementation="eager")
    return Only(transformers.SwinModel(config)), (torch.randn(1, 3, 64, 64),), {}


class Decoder(nn.Module):
    """Llama with the keys and values of earlier tokens as inputs and outputs."""

    def __init__(self, config):
        super().__init__()
        self.llama = transformers.LlamaForCausalLM(config)

    def forward(self, ids, positions, *past):
        cache = transformers.DynamicCache()
        for layer in range(len(past) // 2):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        result = self.llama(input_ids=ids, position_ids=positions, past_key_values=cache, use_cache=True)
        present = []
        for layer in result.past_key_values.layers:
            present += [layer.keys, layer.values]
        return (result.logits, *present)


def decoder(tokens, earlier):
    config = transformers.LlamaConfig(vocab_size=128, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                                      num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64)
    past = tuple(torch.randn(1, 2, earlier, 16) for _ in range(4))
    positions = torch.arange(earlier, earlier + tokens)[None]
    return Decoder(config), (torch.randint(0, 128, (1, tokens)), positions, *past)


def llama():
    return *decoder(1, 15), {}


def llama_dynamic():
    network, inputs = decoder(3, 16)
    tokens, earlier = Dim("tokens", min=2, max=32), Dim("earlier", min=2, max=32)
    shapes = ({1: tokens}, {1: tokens}, tuple({2: earlier} for _ in range(4)))
    return network, inputs, {"dynamic_shapes": shapes, "external_data": True}


def whisper():
    config = transformers.WhisperConfig(d_model=48, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=96,
                                        decoder_layers=1, decoder_attention_heads=4, max_source_positions=50,
                                        num_mel_bins=20)
    return Only(transformers.WhisperModel(config).encoder), (torch.randn(1, 20, 100),), {}


def bert_dynamic():
    config = transformers.BertConfig(vocab_size=100, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                                     intermediate_size=96, max_position_embeddings=64)
    batch, length = Dim("batch", min=2, max=8), Dim("length", min=2, max=64)
    inputs = (torch.randint(0, 100, (2, 12)), torch.ones(2, 12, dtype=torch.int64))
    return Only(transformers.BertModel(config)), inputs, {"dynamic_shapes": (({0: batch, 1: length},
                                                                              {0: batch, 1: length}),)}


def unet():
    from diffusers import UNet2DConditionModel
    network = UNet2DConditionModel(sample_size=16, in_channels=4, out_channels=4, layers_per_block=1,
                                   block_out_channels=(16, 32), norm_num_groups=8, cross_attention_dim=24,
                                   attention_head_dim=8, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
                                   up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"))
    return Only(network), (torch.randn(1, 4, 16, 16), torch.tensor([10]), torch.randn(1, 7, 24)), {}


def convolution(inputs, outputs, size=1, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), nn.BatchNorm2d(outputs),
                         nn.SiLU())


class Split(nn.Module):
    """Half of the channels pass bottlenecks; all meet again."""

    def __init__(self, channels, adds):
        super().__init__()
        half = channels // 2
        self.enter, self.leave = convolution(channels, channels), convolution(half * 3, channels)
        self.inside = nn.Sequential(convolution(half, half, 3), convolution(half, half, 3))
        self.adds = adds

    def forward(self, x):
        a, b = self.enter(x).chunk(2, 1)
        c = self.inside(b)
        return self.leave(torch.cat((a, b, b + c if self.adds else c), 1))


class Detector(nn.Module):
    """A detector of one stage: a pyramid up and down, and boxes as distances on a grid."""

    def __init__(self, width=8, classes=5, bins=8):
        super().__init__()
        w = width
        self.bins, self.classes = bins, classes
        self.stem = nn.Sequential(convolution(3, w, 3, 2), convolution(w, 2 * w, 3, 2), Split(2 * w, True))
        self.third = nn.Sequential(convolution(2 * w, 4 * w, 3, 2), Split(4 * w, True))
        self.fourth = nn.Sequential(convolution(4 * w, 4 * w, 3, 2), Split(4 * w, True))
        self.pool, self.pooled = nn.MaxPool2d(5, 1, 2), convolution(16 * w, 4 * w)
        self.joined, self.down = nn.Sequential(convolution(8 * w, 4 * w), Split(4 * w, False)), convolution(4 * w, 4 * w, 3, 2)
        self.last = nn.Sequential(convolution(8 * w, 4 * w), Split(4 * w, False))
        self.boxes = nn.ModuleList(nn.Conv2d(4 * w, 4 * bins, 1) for _ in range(2))
        self.scores = nn.ModuleList(nn.Conv2d(4 * w, classes, 1) for _ in range(2))

    def forward(self, image):
        third = self.third(self.stem(image))
        pools = [self.fourth(third)]
        for _ in range(3):
            pools.append(self.pool(pools[-1]))
        fourth = self.pooled(torch.cat(pools, 1))
        third = self.joined(torch.cat((nn.functional.interpolate(fourth, scale_factor=2.0), third), 1))
        fourth = self.last(torch.cat((self.down(third), fourth), 1))
        boxes, scores = [], []
        for level, stride, box, score in zip((third, fourth), (8, 16), self.boxes, self.scores):
            batch, _, height, width = level.shape
            share = box(level).view(batch, 4, self.bins, height * width).softmax(2)
            sides = (share * torch.arange(self.bins, dtype=torch.float32).view(1, 1, -1, 1)).sum(2)
            y, x = torch.meshgrid(torch.arange(height) + 0.5, torch.arange(width) + 0.5, indexing="ij")
            grid = torch.stack((x.flatten(), y.flatten()))[None]
            low, high = sides.chunk(2, 1)
            boxes.append(torch.cat((grid - low, grid + high), 1) * stride)
            scores.append(score(level).flatten(2).sigmoid())
        return torch.cat((torch.cat(boxes, 2), torch.cat(scores, 2)), 1)


def detector():
    return Detector(), (torch.randn(1, 3, 64, 64),), {}


NETWORKS = {f.__name__: f for f in (vit, swin, llama, llama_dynamic, whisper, bert_dynamic, unet, detector)}


def main():
    parser = argparse.ArgumentParser(description="Writes networks as PyTorch exports them.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", default=[], choices=[[], *NETWORKS])
    parser.add_argument("--opsets", default="18,23")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in options.names or NETWORKS:
        for opset in map(int, options.opsets.split(",")):
            torch.manual_seed(1)
            network, inputs, extra = NETWORKS[name]()
            try:
                torch.onnx.export(network.eval(), inputs, str(options.folder / f"{name}_{opset}.onnx"), dynamo=True,
                                  opset_version=opset, verbose=False, **{"external_data": False, **extra})
                print(name, opset, flush=True)
            except Exception:  # one network that cannot be exported must not hide the others
                failed += 1
                print(name, opset, "failed", flush=True)
                traceback.print_exc()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
