#include "reference/models.h"

#include <ctype.h>
#include <stdbool.h>

#include "base/suggest.h"

/* Parameters are those of the published checkpoint. */
static const struct cb_model_row rows[] = {
    {"gpt2-125m", "GPT-2 125M", 124439808, 124439808, 12, 768, 3072, 12, 12, 50257, 0, 0, 1024, 0,
     "model card openai-community/gpt2; Radford et al. 2019"},
    {"bert-large", "BERT-large", 335141888, 335141888, 24, 1024, 4096, 16, 16, 30522, 0, 0, 512, 0,
     "model card google-bert/bert-large-uncased; arXiv 1810.04805"},
    {"resnet-50", "ResNet-50", 25557032, 25557032, 0, 0, 0, 0, 0, 0, 0, 0, 1, 24.5e9,
     "torchvision resnet50: 4.09 G multiply-adds per image forward, three times that in training; "
     "arXiv 1512.03385"},
    {"sdxl", "SDXL", 2567463684, 2567463684, 0, 0, 0, 0, 0, 0, 0, 0, 1, 20.3e12,
     "U-Net of stabilityai/stable-diffusion-xl-base-1.0: 3.38 T multiply-adds per image of 1024 x "
     "1024 forward, counted from its published layers, three times that in training; arXiv "
     "2307.01952"},
    {"llama-1b", "Llama 3.2 1B", 1235814400, 1235814400, 16, 2048, 8192, 32, 8, 128256, 0, 0, 8192,
     0, "model card meta-llama/Llama-3.2-1B"},
    {"llama-3b", "Llama 3.2 3B", 3212749824, 3212749824, 28, 3072, 8192, 24, 8, 128256, 0, 0, 8192,
     0, "model card meta-llama/Llama-3.2-3B"},
    {"llama-7b", "Llama 2 7B", 6738415616, 6738415616, 32, 4096, 11008, 32, 32, 32000, 0, 0, 4096,
     0, "model card meta-llama/Llama-2-7b; arXiv 2307.09288"},
    {"llama-8b", "Llama 3.1 8B", 8030261248, 8030261248, 32, 4096, 14336, 32, 8, 128256, 0, 0, 8192,
     0, "model card meta-llama/Llama-3.1-8B; arXiv 2407.21783"},
    {"llama-13b", "Llama 2 13B", 13015864320, 13015864320, 40, 5120, 13824, 40, 40, 32000, 0, 0,
     4096, 0, "model card meta-llama/Llama-2-13b; arXiv 2307.09288"},
    {"llama-70b", "Llama 3.1 70B", 70553706496, 70553706496, 80, 8192, 28672, 64, 8, 128256, 0, 0,
     8192, 0, "model card meta-llama/Llama-3.1-70B; arXiv 2407.21783"},
    {"mixtral-8x7b", "Mixtral 8x7B", 46702792704, 12879925248, 32, 4096, 14336, 32, 8, 32000, 8, 2,
     4096, 0, "model card mistralai/Mixtral-8x7B-v0.1; arXiv 2401.04088"},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

const struct cb_model_row *cb_models(size_t *count)
{
    *count = ROWS;
    return rows;
}

static int folded(char c)
{
    return c == ' ' || c == '_' ? '-' : tolower((unsigned char)c);
}

static bool is_same(const char *a, const char *b)
{
    while (*a && folded(*a) == folded(*b)) {
        a++;
        b++;
    }
    return folded(*a) == folded(*b);
}

const struct cb_model_row *cb_model_find(const char *name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (is_same(name, rows[i].name) || is_same(name, rows[i].title))
            return &rows[i];
    return NULL;
}

const char *cb_model_suggest(const char *name)
{
    const char *names[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        names[i] = rows[i].name;
    return cb_suggest(name, names, ROWS);
}
