// Files that the command writes: what is in the way is looked at first.
#pragma once

#include <string>

namespace roost::cli {

// Opens `path`, makes it if it is not there, and returns whether it was made. Ends the command with
// `status` if the file cannot be written, or has something else than an earlier one, which begins
// with `beginning`. `what` ("trace") and `option` ("--trace") are for the sentence.
bool claim_output(const std::string& path, const char* beginning, const char* what,
                  const char* option, int status);

// The same before what takes a while, leaving no file that was not there.
void check_output(const std::string& path, const char* beginning, const char* what,
                  const char* option, int status);

}  // namespace roost::cli
