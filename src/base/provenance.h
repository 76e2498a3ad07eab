/* Where a number comes from; every number that a person reads carries one of these. */
#ifndef CB_BASE_PROVENANCE_H
#define CB_BASE_PROVENANCE_H

enum cb_provenance {
    CB_FROM_NOWHERE = 0, /* there is no number */
    CB_FROM_MEASURED,
    CB_FROM_GIVEN,     /* the user stated it */
    CB_FROM_NOMINAL,   /* data sheet or driver */
    CB_FROM_REFERENCE, /* published, with its source */
    CB_FROM_ASSUMED,
    CB_FROM_EXTRAPOLATED,
    CB_PROVENANCE_COUNT
};

/* "measured", ..., "none"; never NULL. */
const char *cb_provenance_name(enum cb_provenance provenance);

/* What a figure made of two parts rests on, the weaker one: measured is stronger than given, then
 * come reference, nominal, extrapolated and assumed. NOWHERE gives way. */
enum cb_provenance cb_provenance_weaker(enum cb_provenance a, enum cb_provenance b);

/* The provenance of that name, or -1. */
int cb_provenance_parse(const char *name);

#endif
