#include "base/provenance.h"

#include "base/names.h"

static const char *const names[] = {
    [CB_FROM_NOWHERE] = "none",
    [CB_FROM_MEASURED] = "measured",
    [CB_FROM_GIVEN] = "given",
    [CB_FROM_NOMINAL] = "nominal",
    [CB_FROM_REFERENCE] = "reference",
    [CB_FROM_ASSUMED] = "assumed",
    [CB_FROM_EXTRAPOLATED] = "extrapolated",
};
_Static_assert(sizeof(names) / sizeof(names[0]) == CB_PROVENANCE_COUNT, "one name per provenance");

const char *cb_provenance_name(enum cb_provenance provenance)
{
    return (unsigned)provenance < CB_PROVENANCE_COUNT ? names[provenance] : names[CB_FROM_NOWHERE];
}

/* From what is certain to what is not. */
static const int weakness[] = {
    [CB_FROM_NOWHERE] = 0,   [CB_FROM_MEASURED] = 1, [CB_FROM_GIVEN] = 2,
    [CB_FROM_REFERENCE] = 3, [CB_FROM_NOMINAL] = 4,  [CB_FROM_EXTRAPOLATED] = 5,
    [CB_FROM_ASSUMED] = 6,
};
_Static_assert(sizeof(weakness) / sizeof(weakness[0]) == CB_PROVENANCE_COUNT, "one each");

enum cb_provenance cb_provenance_weaker(enum cb_provenance a, enum cb_provenance b)
{
    return weakness[a] >= weakness[b] ? a : b;
}

int cb_provenance_parse(const char *name)
{
    return cb_names_find(names, CB_PROVENANCE_COUNT, name);
}
