#pragma once
// Linking this target is all that is needed: see setup.c.
