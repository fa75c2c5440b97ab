// What the library lets programs see. All else is hidden.
#pragma once

#define ROOST_EXPORT __attribute__((visibility("default")))
