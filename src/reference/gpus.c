#include "reference/gpus.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/suggest.h"

#define PLAIN_LENGTH 64

/* Figures as they are published: MHz, GB, GB/s, TFLOPS (int8: TOPS), W. In the order of the table:
 * identity, chip, multiprocessors, highest published clock, memory and its rate, peaks (fp64, its
 * tensor rate, fp32, tf32, fp16 with fp32 and with fp16 accumulation, fp8, int8), NVLinks and their
 * rate one way, PCIe generation and lanes, power limit by default, sources, what to know. */
#define U (-1) /* not found in any source */
#define SCALED(value, unit) ((value) < 0 ? -1 : (value) * (unit))
#define T(value) SCALED(value, 1e12)
#define PEAKS(fp64, fp64_tensor, fp32, tf32, fp16, fp16_acc16, fp8, int8)                          \
    {                                                                                              \
        [CB_PEAK_FP64] = T(fp64), [CB_PEAK_FP64_TENSOR] = T(fp64_tensor),                          \
        [CB_PEAK_FP32] = T(fp32), [CB_PEAK_TF32] = T(tf32), [CB_PEAK_FP16] = T(fp16),              \
        [CB_PEAK_FP16_ACC16] = T(fp16_acc16), [CB_PEAK_FP8] = T(fp8), [CB_PEAK_INT8] = T(int8)     \
    }
#define GPU(id, name, device, chip, sms, mhz, gb, gb_s, peaks, links, link_gb_s, gen, lanes, watt, \
            sources, note)                                                                         \
    {                                                                                              \
        id, name, device, chip, sms, SCALED(mhz, 1e6), SCALED(gb, 1e9), SCALED(gb_s, 1e9), peaks,  \
            links, SCALED(link_gb_s, 1e9), gen, lanes, watt, sources, note                         \
    }

/* clang-format off */
static const struct cb_gpu_reference gpus[] = {
    GPU("v100-sxm2-16gb", "Tesla V100-SXM2-16GB", 0x1db1, "GV100", 80, 1530, 16, 900, PEAKS(7.8, 0, 15.7, 0, 125, 125, 0, U), 6, 150, 3, 16, 300, "PLMNQYm", ""),
    GPU("v100-sxm2-32gb", "Tesla V100-SXM2-32GB", 0x1db5, "GV100", 80, 1530, 32, 900, PEAKS(7.8, 0, 15.7, 0, 125, 125, 0, U), 6, 150, 3, 16, 300, "PLMNQYm", ""),
    GPU("v100-pcie-16gb", "Tesla V100-PCIE-16GB", 0x1db4, "GV100", 80, 1380, 16, 900, PEAKS(7.0, 0, 14.0, 0, 112, 112, 0, U), 0, 0, 3, 16, 250, "PLMQYCS", ""),
    GPU("v100-pcie-32gb", "Tesla V100-PCIE-32GB", 0x1db6, "GV100", 80, 1380, 32, 900, PEAKS(7.0, 0, 14.0, 0, 112, 112, 0, U), 0, 0, 3, 16, 250, "PLMQYCS", ""),
    GPU("t4", "Tesla T4", 0x1eb8, "TU104", 40, 1590, 16, 320, PEAKS(0.25, 0, 8.1, 0, 65, 65, 0, 130), 0, 0, 3, 16, 70, "DLMQC", ""),
    GPU("a10", "NVIDIA A10", 0x2236, "GA102", 72, 1695, 24, 600, PEAKS(0.98, 0, 31.2, 62.5, 125, 125, 0, 250), 0, 0, 4, 16, 150, "DLMQY", "fp64 from a secondary source"),
    GPU("a40", "NVIDIA A40", 0x2235, "GA102", 84, 1740, 48, 696, PEAKS(1.17, 0, 37.4, 74.8, 149.7, 149.7, 0, 299.3), U, 56.25, 4, 16, 300, "DLC4Q", "NVLink in pairs, with the bridge"),
    GPU("l4", "NVIDIA L4", 0x27b8, "AD104", U, 2040, 24, 300, PEAKS(0.47, 0, 30.3, 60, 121, 121, 242, 242), 0, 0, 4, 16, 72, "DLAF", "58 by its cores, 60 printed on one page: left unknown"),
    GPU("l40s", "NVIDIA L40S", 0x26b9, "AD102", 142, 2520, 48, 864, PEAKS(1.43, 0, 91.6, 183, 362, 362, 733, 733), 0, 0, 4, 16, 350, "DBACU", ""),
    GPU("a100-sxm4-40gb", "NVIDIA A100-SXM4-40GB", 0x20b0, "GA100", 108, 1410, 40, 1555, PEAKS(9.7, 19.5, 19.5, 156, 312, 312, 0, 624), 12, 300, 4, 16, 400, "DBNLKY", ""),
    GPU("a100-sxm4-80gb", "NVIDIA A100-SXM4-80GB", 0x20b2, "GA100", 108, 1410, 80, 2039, PEAKS(9.7, 19.5, 19.5, 156, 312, 312, 0, 624), 12, 300, 4, 16, 400, "DBNLKAY", ""),
    GPU("a100-pcie-40gb", "NVIDIA A100-PCIE-40GB", 0x20f1, "GA100", 108, 1410, 40, 1555, PEAKS(9.7, 19.5, 19.5, 156, 312, 312, 0, 624), 12, 300, 4, 16, 250, "DBLQCY", "NVLink in pairs, with the bridge"),
    GPU("a100-pcie-80gb", "NVIDIA A100 80GB PCIe", 0x20b5, "GA100", 108, 1410, 80, 1935, PEAKS(9.7, 19.5, 19.5, 156, 312, 312, 0, 624), 12, 300, 4, 16, 300, "DBLAY", "NVLink in pairs, with the bridge"),
    GPU("a800-sxm4-40gb", "NVIDIA A800-SXM4-40GB", 0x20bd, "GA100", 108, 1410, 40, U, PEAKS(9.7, 19.5, 19.5, 156, 312, 312, 0, 624), 8, 200, 4, 16, 400, "DC8IG", "power limit rounded from 399 W"),
    GPU("a800-sxm4-80gb", "NVIDIA A800-SXM4-80GB", 0x20f3, "GA100", 108, 1410, 80, U, PEAKS(9.7, 19.5, 19.5, 156, 312, 312, 0, 624), 8, 200, 4, 16, 400, "DCG8I", "power limit rounded from 399 W"),
    GPU("a800-pcie-80gb", "NVIDIA A800 80GB PCIe", 0x20f5, "GA100", 108, 1410, 80, U, PEAKS(9.7, 19.5, 19.5, 156, 312, 312, 0, 624), U, 200, 4, 16, 300, "DCG8", "power limit rounded from 299 W"),
    GPU("h100-sxm5-80gb", "NVIDIA H100 80GB HBM3", 0x2330, "GH100", 132, 1980, 80, 3350, PEAKS(34, 67, 67, 494.5, 989, 989, 1979, 1979), 18, 450, 5, 16, 700, "DBNLHAX", "the tensor peak is quoted at 1830 MHz, the clock may reach 1980"),
    GPU("h100-pcie-80gb", "NVIDIA H100 PCIe", 0x2331, "GH100", 114, U, 80, 2000, PEAKS(26, 51, 51, 378, 756, 756, 1513, 1513), U, 300, 5, 16, 350, "DBLHA", "NVLink in pairs, with the bridge"),
    GPU("h100-nvl", "NVIDIA H100 NVL", 0x2321, "GH100", U, U, 94, 3900, PEAKS(30, 60, 60, 417.5, 835.5, 835.5, U, 1670.5), 12, 300, 5, 16, 400, "DPBLT2", ""),
    GPU("h800-sxm5-80gb", "NVIDIA H800", 0x2324, "GH100", U, U, 80, 3350, PEAKS(1, U, U, U, 989, U, 1979, U), 8, 200, 5, 16, 700, "DGRIJ", "tensor peaks as a simulator models it"),
    GPU("h800-pcie", "NVIDIA H800 PCIe", 0x2322, "GH100", U, U, 80, U, PEAKS(U, U, U, U, U, U, U, U), U, U, 5, 16, U, "DG", ""),
    GPU("h20", "NVIDIA H20", 0x2329, "GH100", 78, U, 96, 4000, PEAKS(1, U, 44, 74, 148, 148, 296, 296), 18, 450, 5, 16, 500, "DPZGTIJ", "tensor rate cut in hardware; the press says 400 W"),
    GPU("h20-3e", "NVIDIA H20-3e", 0x232c, "GH100", U, U, U, U, PEAKS(U, U, U, U, U, U, U, U), U, U, 5, 16, 500, "DPG", ""),
    GPU("h200-sxm5", "NVIDIA H200", 0x2335, "GH100", 132, 1980, 141, 4800, PEAKS(34, 67, 67, 494.5, 989, 989, 1979, 1979), 18, 450, 5, 16, 700, "DBNLA", "the tensor peak is quoted at 1830 MHz, the clock may reach 1980"),
    GPU("h200-nvl", "NVIDIA H200 NVL", 0x233b, "GH100", U, U, U, U, PEAKS(30, 60, 60, 420, 840, 840, U, 1680), U, U, 5, 16, 600, "DBL", ""),
    GPU("b200-sxm", "NVIDIA B200", 0x2901, "GB100", 148, 1965, 180, 7700, PEAKS(37, 37, 75, 1125, 2250, 2250, 4500, 4500), 18, 900, 6, 16, 1000, "DBNAXCKV", "7.7 and 8.0 TB/s are both published, FP32 75 and 80"),
    GPU("b300-sxm", "NVIDIA B300 SXM6 AC", 0x3182, "GB110", U, U, 270, 7700, PEAKS(1.25, 1.25, 75, 1125, 2250, 2250, 4500, 150), 18, 900, 6, 16, 1100, "DNAXKV", "270 GB usable of 288"),
    GPU("gb200", "NVIDIA GB200", 0x2941, "GB100", 148, 2062, 186, 8000, PEAKS(45, 45, 80, 1250, 2500, 2500, 5000, 5000), 18, 900, U, U, 1200, "DBNAXCKV", "2450 is published too"),
    GPU("gb300", "NVIDIA GB300", 0x31c2, "GB110", U, U, 279, 8000, PEAKS(U, U, 80, 1250, 2500, 2500, 5000, 165), 18, 900, U, U, 1400, "DBNAXV", "2450 is published too"),
    GPU("rtx-3090", "NVIDIA GeForce RTX 3090", 0x2204, "GA102", 82, 1695, 24, 936, PEAKS(0.56, 0, 35.6, 35.6, 71.2, 142.3, 0, 284), U, U, 4, 16, 350, "DLgC", "tensor rates scaled from the 3090 Ti by multiprocessors and clock"),
    GPU("rtx-4090", "NVIDIA GeForce RTX 4090", 0x2684, "AD102", 128, 2520, 24, 1008, PEAKS(1.29, 0, 82.6, 82.6, 165.2, 330.3, 330.3, 660.6), 0, 0, 4, 16, 450, "DLCWg", ""),
    GPU("rtx-4090-d", "NVIDIA GeForce RTX 4090 D", 0x2685, "AD102", 114, 2520, 24, 1008, PEAKS(1.15, 0, 73.5, 73.5, 147.1, 294.2, 294.2, 588.4), 0, 0, 4, 16, 425, "DCF", "int8 by the ratio of the 4090"),
    GPU("rtx-5090", "NVIDIA GeForce RTX 5090", 0x2b85, "GB202", 170, 2407, 32, 1792, PEAKS(1.64, 0, 104.8, 104.8, 209.5, 419, 419, 838), 0, 0, 5, 16, 575, "DFWC", "tensor rates by the ratios of its family"),
    GPU("rtx-a6000", "NVIDIA RTX A6000", 0x2230, "GA102", 84, 1800, 48, 768, PEAKS(1.21, 0, 38.7, 77.4, 154.8, 154.8, 0, 309.7), U, 56.25, 4, 16, 300, "DLT6QY", "NVLink in pairs, with the bridge"),
    GPU("rtx-6000-ada", "NVIDIA RTX 6000 Ada Generation", 0x26b1, "AD102", 142, 2505, 48, 960, PEAKS(U, 0, 91.1, 182.1, 364.2, 364.2, 728.5, 728.5), 0, 0, 4, 16, 300, "D7C", "tensor rates by the ratios of its die"),
    GPU("rtx-pro-6000-ws", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 0x2bb1, "GB202", 188, 2617, 96, 1792, PEAKS(1.97, 0, 126, 251.9, 503.8, 503.8, 1007.6, 1007.6), 0, 0, 5, 16, 600, "DCt", ""),
    GPU("rtx-pro-6000-maxq", "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 0x2bb4, "GB202", 188, 2288, 96, 1792, PEAKS(U, 0, 110.1, U, U, U, U, U), 0, 0, 5, 16, 300, "Dt", ""),
    GPU("rtx-pro-6000-server", "NVIDIA RTX PRO 6000 Blackwell Server Edition", 0x2bb5, "GB202", 188, 2430, 96, 1792, PEAKS(U, 0, U, U, 467.8, 467.8, 935.6, 935.6), 0, 0, 5, 16, 600, "DAB", "peaks at the 2430 MHz that it sustains"),
};
/* clang-format on */

static const char mamf_source[] = "ml-engineering, accelerators, MAMF table";
static const char search_source[] = "gpu_benchmark, Optuna search over shapes";
static const char fryer_source[] = "gpu-fryer README, 8192 x 8192 burn";
static const char superbench_source[] = "superbench-results 0.4.0, mean of 729 nodes";
static const char azure_source[] = "ai-infrastructure-on-azure, 60 s baseline";
static const char stream_source[] = "gpu-benches, gpu-stream";

static const struct cb_gpu_rate rates[] = {
    {"v100-sxm2-16gb", CB_RATE_BURST, CB_DTYPE_BFLOAT16, 96.1e12, search_source},
    {"v100-sxm2-16gb", CB_RATE_BURST, CB_DTYPE_FLOAT16, 96.1e12, search_source},
    {"v100-sxm2-16gb", CB_RATE_BURST, CB_DTYPE_FLOAT32, 14e12, fryer_source},
    {"v100-sxm2-32gb", CB_RATE_BURST, CB_DTYPE_BFLOAT16, 94.0e12, search_source},
    {"v100-sxm2-32gb", CB_RATE_BURST, CB_DTYPE_FLOAT16, 94.0e12, search_source},
    {"a40", CB_RATE_READ, CB_DTYPE_FLOAT64, 679e9, stream_source},
    {"a40", CB_RATE_TRIAD, CB_DTYPE_FLOAT64, 653e9, stream_source},
    {"a40", CB_RATE_WRITE, CB_DTYPE_FLOAT64, 679e9, stream_source},
    {"l4", CB_RATE_BURST, CB_DTYPE_BFLOAT16, 91.4e12, search_source},
    {"l4", CB_RATE_BURST, CB_DTYPE_FLOAT16, 91.4e12, search_source},
    {"l40s", CB_RATE_BURST, CB_DTYPE_BFLOAT16, 252.0e12, search_source},
    {"l40s", CB_RATE_BURST, CB_DTYPE_FLOAT16, 252.0e12, search_source},
    {"a100-sxm4-40gb", CB_RATE_READ, CB_DTYPE_FLOAT64, 1490e9, stream_source},
    {"a100-sxm4-40gb", CB_RATE_TRIAD, CB_DTYPE_FLOAT64, 1360e9, stream_source},
    {"a100-sxm4-40gb", CB_RATE_WRITE, CB_DTYPE_FLOAT64, 1503e9, stream_source},
    {"a100-sxm4-80gb", CB_RATE_BURST, CB_DTYPE_BFLOAT16, 271.2e12, mamf_source},
    {"a100-sxm4-80gb", CB_RATE_BURST, CB_DTYPE_BFLOAT16, 267.9e12, search_source},
    {"a100-sxm4-80gb", CB_RATE_BURST, CB_DTYPE_FLOAT16, 267.9e12, search_source},
    {"a100-sxm4-80gb", CB_RATE_SUSTAINED, CB_DTYPE_BFLOAT16, 270e12, fryer_source},
    {"a100-sxm4-80gb", CB_RATE_SUSTAINED, CB_DTYPE_TF32, 130e12, fryer_source},
    {"a100-sxm4-80gb", CB_RATE_BURST, CB_DTYPE_FLOAT64, 18.952e12, superbench_source},
    {"a100-sxm4-80gb", CB_RATE_BURST, CB_DTYPE_FLOAT32, 18.356e12, superbench_source},
    {"a100-sxm4-80gb", CB_RATE_BURST, CB_DTYPE_TF32, 127.37e12, superbench_source},
    {"a100-sxm4-80gb", CB_RATE_BURST, CB_DTYPE_FLOAT16, 275.4e12, superbench_source},
    {"a100-sxm4-80gb", CB_RATE_BURST, CB_DTYPE_BFLOAT16, 261.23e12, superbench_source},
    {"a100-sxm4-80gb", CB_RATE_READ, CB_DTYPE_FLOAT64, 1769e9, stream_source},
    {"a100-sxm4-80gb", CB_RATE_TRIAD, CB_DTYPE_FLOAT64, 1759e9, stream_source},
    {"a100-sxm4-80gb", CB_RATE_WRITE, CB_DTYPE_FLOAT64, 1880e9, stream_source},
    {"a100-pcie-40gb", CB_RATE_SUSTAINED, CB_DTYPE_BFLOAT16, 224e12, fryer_source},
    {"a100-pcie-80gb", CB_RATE_BURST, CB_DTYPE_BFLOAT16, 252.9e12, mamf_source},
    {"a100-pcie-80gb", CB_RATE_BURST, CB_DTYPE_BFLOAT16, 256.4e12, search_source},
    {"a100-pcie-80gb", CB_RATE_BURST, CB_DTYPE_FLOAT16, 256.4e12, search_source},
    {"h100-sxm5-80gb", CB_RATE_BURST, CB_DTYPE_BFLOAT16, 794.5e12, mamf_source},
    {"h100-sxm5-80gb", CB_RATE_BURST, CB_DTYPE_FLOAT8_E4M3, 1402.6e12, mamf_source},
    {"h100-sxm5-80gb", CB_RATE_BURST, CB_DTYPE_BFLOAT16, 821.2e12, search_source},
    {"h100-sxm5-80gb", CB_RATE_BURST, CB_DTYPE_FLOAT16, 821.2e12, search_source},
    {"h100-sxm5-80gb", CB_RATE_SUSTAINED, CB_DTYPE_BFLOAT16, 730e12, fryer_source},
    {"h100-sxm5-80gb", CB_RATE_SUSTAINED, CB_DTYPE_FLOAT8_E4M3, 1530e12, fryer_source},
    {"h100-sxm5-80gb", CB_RATE_SUSTAINED, CB_DTYPE_TF32, 373e12, fryer_source},
    {"h100-sxm5-80gb", CB_RATE_SUSTAINED, CB_DTYPE_BFLOAT16, 769e12, azure_source},
    {"h100-pcie-80gb", CB_RATE_BURST, CB_DTYPE_BFLOAT16, 499.5e12, search_source},
    {"h100-pcie-80gb", CB_RATE_BURST, CB_DTYPE_FLOAT16, 499.5e12, search_source},
    {"h100-pcie-80gb", CB_RATE_READ, CB_DTYPE_FLOAT64, 1942e9, stream_source},
    {"h100-pcie-80gb", CB_RATE_TRIAD, CB_DTYPE_FLOAT64, 1832e9, stream_source},
    {"h100-pcie-80gb", CB_RATE_WRITE, CB_DTYPE_FLOAT64, 2016e9, stream_source},
    {"h200-sxm5", CB_RATE_BURST, CB_DTYPE_FLOAT8_E4M3, 1453.4e12, mamf_source},
    {"b200-sxm", CB_RATE_BURST, CB_DTYPE_BFLOAT16, 1745.0e12, mamf_source},
    {"b200-sxm", CB_RATE_BURST, CB_DTYPE_FLOAT8_E4M3, 3432.5e12, mamf_source},
    {"b300-sxm", CB_RATE_BURST, CB_DTYPE_BFLOAT16, 1769.0e12, mamf_source},
    {"b300-sxm", CB_RATE_BURST, CB_DTYPE_FLOAT8_E4M3, 3353.3e12, mamf_source},
    {"gb200", CB_RATE_BURST, CB_DTYPE_BFLOAT16, 1822.0e12, mamf_source},
    {"gb200", CB_RATE_BURST, CB_DTYPE_FLOAT8_E4M3, 3615.6e12, mamf_source},
    {"gb200", CB_RATE_SUSTAINED, CB_DTYPE_BFLOAT16, 1550e12, fryer_source},
    {"gb200", CB_RATE_SUSTAINED, CB_DTYPE_FLOAT8_E4M3, 4300e12, fryer_source},
    {"gb200", CB_RATE_SUSTAINED, CB_DTYPE_TF32, 790e12, fryer_source},
    {"gb300", CB_RATE_SUSTAINED, CB_DTYPE_BFLOAT16, 1850e12, azure_source},
    {"rtx-3090", CB_RATE_BURST, CB_DTYPE_BFLOAT16, 78.0e12, search_source},
    {"rtx-3090", CB_RATE_BURST, CB_DTYPE_FLOAT16, 78.0e12, search_source},
    {"rtx-4090", CB_RATE_BURST, CB_DTYPE_BFLOAT16, 178.8e12, search_source},
    {"rtx-4090", CB_RATE_BURST, CB_DTYPE_FLOAT16, 178.8e12, search_source},
    {"rtx-a6000", CB_RATE_BURST, CB_DTYPE_BFLOAT16, 131.2e12, search_source},
    {"rtx-a6000", CB_RATE_BURST, CB_DTYPE_FLOAT16, 131.2e12, search_source},
    {"rtx-6000-ada", CB_RATE_BURST, CB_DTYPE_BFLOAT16, 278.5e12, search_source},
    {"rtx-6000-ada", CB_RATE_BURST, CB_DTYPE_FLOAT16, 278.5e12, search_source},
};

static const struct source {
    char key;
    const char *name;
} sources[] = {
    {'D', "NVIDIA open-gpu-kernel-modules 595.45.04, compatible GPUs"},
    {'P', "pci.ids"},
    {'G', "NVIDIA DCGM, diag-skus"},
    {'X', "NVIDIA dgxc-benchmarking"},
    {'L', "PyTorch Lightning, throughput.py"},
    {'M', "MosaicML Composer, speed_monitor.py"},
    {'T', "torchtitan, get_peak_flops"},
    {'B', "ml-engineering, accelerators"},
    {'N', "ml-engineering, network"},
    {'A', "ai-dynamo aiconfigurator, systems"},
    {'H', "hpctech.co.jp, NVIDIA H100"},
    {'K', "glennklockwood.com, processors"},
    {'C', "hmc-tech.com comparisons"},
    {'Q', "sysrqmts.com comparisons"},
    {'F', "fpsbench.com comparisons"},
    {'W', "tomshardware.com, RTX 5090 and 4090"},
    {'Z', "zangshuxian.com, H20"},
    {'8', "aiwiki.ai, A800"},
    {'R', "philisun.com, H800 and H100"},
    {'V', "verda.com, GB300 NVL72"},
    {'U', "mullet.se, L40 and L40S sheet"},
    {'4', "A40 sheet, 900-2G133"},
    {'6', "servethehome.com, RTX A6000"},
    {'Y', "llm-analysis, gpu_configs"},
    {'S', "superbench-results, V100 system"},
    {'g', "cuttingedgegamer.com, RTX 3090 and 4090"},
    {'m', "gpu_benchmark README"},
    {'2', "azurehpc-health-checks, 162"},
    {'J', "SimAI, device_sku_config.py"},
    {'I', "SimAI, calbusbw.h"},
    {'7', "grafikkarten.com and cputronic.com, RTX 6000 Ada"},
    {'t', "technical.city, RTX PRO 6000"},
};

static const struct chip {
    const char *name;
    int multiply_adds; /* of all tensor cores of one multiprocessor, fp16, per clock */
} chips[] = {
    {"GV100", 512}, {"TU104", 512},  {"GA100", 1024}, {"GA102", 512}, {"AD102", 512},
    {"AD104", 512}, {"GH100", 2048}, {"GB100", 4096}, {"GB202", 512},
};

const struct cb_gpu_reference *cb_gpu_references(size_t *count)
{
    *count = sizeof(gpus) / sizeof(gpus[0]);
    return gpus;
}

const struct cb_gpu_rate *cb_gpu_rates(size_t *count)
{
    *count = sizeof(rates) / sizeof(rates[0]);
    return rates;
}

const struct cb_gpu_reference *cb_gpu_reference_find_name(const char *name)
{
    for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++)
        if (strcmp(gpus[i].name, name) == 0)
            return &gpus[i];
    return NULL;
}

const struct cb_gpu_reference *cb_gpu_reference_find_device(int pci_device_id)
{
    for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++)
        if (gpus[i].pci_device_id == pci_device_id)
            return &gpus[i];
    return NULL;
}

const struct cb_gpu_reference *cb_gpu_reference_of_card(const char *name, int pci_device_id)
{
    const struct cb_gpu_reference *named = cb_gpu_reference_find_name(name);
    return named ? named : cb_gpu_reference_find_device(pci_device_id);
}

/* Letters and digits alone, in lower case, cut to fit. */
static void plain_name(const char *text, char out[PLAIN_LENGTH])
{
    size_t length = 0;
    for (; *text && length + 1 < PLAIN_LENGTH; text++)
        if (isalnum((unsigned char)*text))
            out[length++] = (char)tolower((unsigned char)*text);
    out[length] = '\0';
}

/* Past the words of the maker that a plain name begins with. */
static const char *skip_maker(const char *plain)
{
    static const char *const words[] = {"nvidia", "tesla", "geforce"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strncmp(plain, words[i], strlen(words[i])) == 0)
            plain += strlen(words[i]);
    return plain;
}

/* The only card whose id begins with the whole words of a plain name ("b300" of "b300-sxm"), or
 * NULL. */
static const struct cb_gpu_reference *find_only(const char *wanted)
{
    const struct cb_gpu_reference *found = NULL;
    for (size_t i = 0; *wanted && i < sizeof(gpus) / sizeof(gpus[0]); i++) {
        const char *at = wanted, *id = gpus[i].id;
        for (; *at && *id; id++) {
            if (*id == '-')
                continue;
            if (*id != *at)
                break;
            at++;
        }
        if (*at || *id != '-')
            continue;
        if (found)
            return NULL;
        found = &gpus[i];
    }
    return found;
}

const struct cb_gpu_reference *cb_gpu_reference_find(const char *text)
{
    char wanted[PLAIN_LENGTH] = "", own[PLAIN_LENGTH];
    plain_name(text, wanted);
    const char *rest = skip_maker(wanted);
    for (size_t i = 0; *rest && i < sizeof(gpus) / sizeof(gpus[0]); i++) {
        plain_name(gpus[i].id, own);
        if (strcmp(rest, own) == 0)
            return &gpus[i];
        plain_name(gpus[i].name, own);
        if (strcmp(rest, skip_maker(own)) == 0)
            return &gpus[i];
    }
    return find_only(rest);
}

size_t cb_gpu_reference_nearest(const char *text, const struct cb_gpu_reference **nearest,
                                size_t limit)
{
    const char *names[2 * sizeof(gpus) / sizeof(gpus[0])];
    size_t name_count = sizeof(names) / sizeof(names[0]);
    for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++) {
        names[2 * i] = gpus[i].id;
        names[2 * i + 1] = gpus[i].name;
    }
    size_t found[CB_SUGGEST_LIMIT], count = 0;
    size_t names_found = cb_suggest_several(text, names, name_count, found, CB_SUGGEST_LIMIT);
    for (size_t i = 0; i < names_found && count < limit; i++) {
        const struct cb_gpu_reference *gpu = &gpus[found[i] / 2];
        bool is_new = true;
        for (size_t j = 0; j < count; j++)
            is_new = is_new && nearest[j] != gpu;
        if (is_new)
            nearest[count++] = gpu;
    }
    return count;
}

const char *cb_gpu_reference_source(char key)
{
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
        if (sources[i].key == key)
            return sources[i].name;
    return NULL;
}

int cb_gpu_reference_multiply_adds(const struct cb_gpu_reference *gpu)
{
    /* GeForce boards multiply fp16 with fp32 accumulation at half the rate of the same chip. */
    int halves = strstr(gpu->name, "GeForce") ? 2 : 1;
    for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++)
        if (strcmp(chips[i].name, gpu->chip) == 0)
            return chips[i].multiply_adds / halves;
    return 0;
}

double cb_gpu_reference_peak(const struct cb_gpu_reference *gpu, enum cb_dtype dtype)
{
    const double *peaks = gpu->peak_flops_per_s;
    switch (dtype) {
    case CB_DTYPE_FLOAT64:
        return peaks[CB_PEAK_FP64_TENSOR] > 0 ? peaks[CB_PEAK_FP64_TENSOR] : peaks[CB_PEAK_FP64];
    case CB_DTYPE_FLOAT32:
        return peaks[CB_PEAK_FP32];
    case CB_DTYPE_TF32:
        return peaks[CB_PEAK_TF32];
    case CB_DTYPE_FLOAT16:
        return peaks[CB_PEAK_FP16];
    case CB_DTYPE_BFLOAT16:
        /* Ampere was the first to multiply it. */
        return strcmp(gpu->chip, "GV100") == 0 || strcmp(gpu->chip, "TU104") == 0
                   ? 0
                   : peaks[CB_PEAK_FP16];
    case CB_DTYPE_FLOAT8_E4M3:
    case CB_DTYPE_FLOAT8_E5M2:
        return peaks[CB_PEAK_FP8];
    case CB_DTYPE_INT32:
    case CB_DTYPE_COUNT:
        break;
    }
    return 0;
}

void cb_gpu_reference_achievable(const struct cb_gpu_reference *gpu, enum cb_rate_kind kind,
                                 enum cb_dtype dtype, struct cb_achievable *achievable)
{
    *achievable = (struct cb_achievable){.source = NULL};
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        const struct cb_gpu_rate *rate = &rates[i];
        bool is_gemm = kind == CB_RATE_BURST || kind == CB_RATE_SUSTAINED;
        bool counts =
            rate->kind == kind || (kind == CB_RATE_BURST && rate->kind == CB_RATE_SUSTAINED);
        if (strcmp(rate->gpu, gpu->id) != 0 || !counts || (is_gemm && rate->dtype != dtype))
            continue;
        if (!achievable->source || rate->per_s < achievable->low_per_s) {
            achievable->low_per_s = rate->per_s;
            achievable->source = rate->source;
        }
        if (rate->per_s > achievable->high_per_s)
            achievable->high_per_s = rate->per_s;
    }
}
