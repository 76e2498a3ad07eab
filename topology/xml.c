#include "topology/xml.h"

#include <errno.h>
#include <expat.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/map.h"

struct cb_xml {
    XML_Parser parser;
    const char *name;
    const struct cb_xml_events *events;
    void *user;
    struct cb_error *err;
    int rc;
    int depth;
    size_t elements;
};

static void stop(struct cb_xml *xml, int code, const char *what)
{
    if (xml->rc)
        return;
    xml->rc = cb_fail(xml->err, code, "%s:%lu: %s", xml->name,
                      (unsigned long)XML_GetCurrentLineNumber(xml->parser), what);
    XML_StopParser(xml->parser, XML_FALSE);
}

void cb_xml_fail(struct cb_xml *xml, const char *format, ...)
{
    char what[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    stop(xml, CB_E_INPUT, what);
}

void cb_xml_pass_on(struct cb_xml *xml, const struct cb_error *err)
{
    if (err->code == CB_E_INPUT)
        stop(xml, err->code, err->what);
    else if (!xml->rc) {
        xml->rc = cb_fail(xml->err, err->code, "%s", err->what);
        XML_StopParser(xml->parser, XML_FALSE);
    }
}

int cb_xml_depth(const struct cb_xml *xml)
{
    return xml->depth - 1;
}

static void XMLCALL on_start(void *user, const XML_Char *element, const XML_Char **attributes)
{
    struct cb_xml *xml = user;
    if (xml->rc)
        return;
    if (++xml->depth > CB_XML_DEPTH_MAX)
        cb_xml_fail(xml, "more than %d elements within one another", CB_XML_DEPTH_MAX);
    else if (++xml->elements > CB_XML_ELEMENTS_MAX)
        cb_xml_fail(xml, "more than %d elements: no machine has that many", CB_XML_ELEMENTS_MAX);
    else
        xml->events->start(xml, xml->user, element, (const char *const *)attributes);
}

static void XMLCALL on_end(void *user, const XML_Char *element)
{
    struct cb_xml *xml = user;
    if (xml->rc)
        return;
    if (xml->events->end)
        xml->events->end(xml, xml->user, element);
    xml->depth--;
}

static void XMLCALL on_text(void *user, const XML_Char *text, int length_bytes)
{
    struct cb_xml *xml = user;
    if (!xml->rc && xml->events->text)
        xml->events->text(xml, xml->user, text, (size_t)length_bytes);
}

static void XMLCALL on_doctype(void *user, const XML_Char *doctype, const XML_Char *system_id,
                               const XML_Char *public_id, int has_internal_subset)
{
    struct cb_xml *xml = user;
    (void)doctype;
    (void)system_id;
    (void)public_id;
    if (has_internal_subset || !xml->events->may_name_dtd)
        cb_xml_fail(xml, "declares a document type of its own, which is not read");
}

static void XMLCALL on_skipped_entity(void *user, const XML_Char *entity, int is_parameter)
{
    (void)entity;
    (void)is_parameter;
    cb_xml_fail(user, "uses an entity, which is not read");
}

static void XMLCALL on_entity(void *user, const XML_Char *entity, int is_parameter,
                              const XML_Char *value, int length, const XML_Char *base,
                              const XML_Char *system_id, const XML_Char *public_id,
                              const XML_Char *notation)
{
    (void)value;
    (void)length;
    (void)base;
    (void)system_id;
    (void)public_id;
    (void)notation;
    on_skipped_entity(user, entity, is_parameter);
}

/* What expat found wrong, in words that need no knowledge of XML for the usual case. */
static void fail_malformed(struct cb_xml *xml)
{
    enum XML_Error code = XML_GetErrorCode(xml->parser);
    switch (code) {
    case XML_ERROR_NO_MEMORY:
        xml->rc = cb_fail(xml->err, CB_E_MEMORY, "no memory to read %s", xml->name);
        break;
    case XML_ERROR_NO_ELEMENTS:
    case XML_ERROR_UNCLOSED_TOKEN:
    case XML_ERROR_UNCLOSED_CDATA_SECTION:
    case XML_ERROR_PARTIAL_CHAR:
        stop(xml, CB_E_INPUT, "ends in the middle: the file is cut short");
        break;
    default:
        cb_xml_fail(xml, "no well-formed XML (%s)", XML_ErrorString(code));
    }
}

static void install(struct cb_xml *xml)
{
    XML_SetUserData(xml->parser, xml);
    XML_SetElementHandler(xml->parser, on_start, on_end);
    XML_SetCharacterDataHandler(xml->parser, on_text);
    XML_SetStartDoctypeDeclHandler(xml->parser, on_doctype);
    XML_SetEntityDeclHandler(xml->parser, on_entity);
    XML_SetSkippedEntityHandler(xml->parser, on_skipped_entity);
    XML_SetParamEntityParsing(xml->parser, XML_PARAM_ENTITY_PARSING_NEVER);
}

int cb_xml_read(const char *name, const char *text, size_t length_bytes,
                const struct cb_xml_events *events, void *user, struct cb_error *err)
{
    struct cb_xml xml = {.name = name, .events = events, .user = user, .err = err};
    if (length_bytes > CB_MAP_FILE_BYTES_MAX)
        return cb_fail(err, CB_E_INPUT, "%s: larger than any map (%zu bytes)", name, length_bytes);
    xml.parser = XML_ParserCreate(NULL);
    if (!xml.parser)
        return cb_fail(err, CB_E_MEMORY, "no memory to read %s", name);
    install(&xml);
    if (XML_Parse(xml.parser, text, (int)length_bytes, XML_TRUE) == XML_STATUS_ERROR && !xml.rc)
        fail_malformed(&xml);
    XML_ParserFree(xml.parser);
    return xml.rc;
}

const char *cb_xml_attribute(const char *const *attributes, const char *name)
{
    for (; *attributes; attributes += 2)
        if (strcmp(attributes[0], name) == 0)
            return attributes[1];
    return NULL;
}

long cb_xml_integer(const char *const *attributes, const char *name, long low, long high,
                    long missing)
{
    const char *text = cb_xml_attribute(attributes, name);
    char *end;
    if (!text || !*text)
        return missing;
    errno = 0;
    long value = strtol(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
    return errno || *end || value < low || value > high ? missing : value;
}
