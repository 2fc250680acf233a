// SPDX-License-Identifier: BSD-3-Clause
// The command line of one subcommand: declared options, --help, --json, and usage errors that say what to
// type.
#pragma once

#include "snapshot/error.hpp"

#include <boost/program_options.hpp>

#include <optional>
#include <string>
#include <vector>

namespace graft::cli {

/// A command line that cannot be understood: exit status 2 instead of 1.
class UsageError : public Error {
  public:
    using Error::Error;
};

/// Declares, parses and hands out the options of `graft <command>`.
/// `synopsis` is the rest of the usage line, `about` the paragraph under it.
class Arguments {
  public:
    /// json_only: answers are JSON whether --json is there or not.
    Arguments(std::string command, std::string synopsis, std::string about, bool json_only = false);

    /// Options with one value (`def` is shown in --help), repeatable ones, and switches.
    Arguments& value(const char* name, const char* placeholder, const char* def, const char* help);
    Arguments& value(const char* name, const char* placeholder, const char* help);
    Arguments& list(const char* name, const char* placeholder, const char* help);
    Arguments& flag(const char* name, const char* help);
    /// Positional arguments in order; `most` = -1 lets the last one repeat.
    Arguments& positional(const char* name, int most = 1);
    /// Text printed after the options in --help: examples, units, meaning of the output.
    Arguments& epilogue(std::string text);

    /// Parses; prints the help to stdout and returns false on --help. Throws UsageError.
    bool parse(const std::vector<std::string>& words);

    bool has(const std::string& name) const;
    bool json() const { return has("json"); }
    std::optional<std::string> text(const std::string& name) const;
    std::vector<std::string> texts(const std::string& name) const;
    /// The value, or UsageError "missing" naming it.
    std::string required(const std::string& name) const;
    double number(const std::string& name) const;
    std::int64_t integer(const std::string& name, std::int64_t least, std::int64_t most) const;
    [[noreturn]] void fail(const std::string& what, const std::string& expected,
                           const std::string& found) const;

  private:
    std::string help() const;
    void run_parser(const std::vector<std::string>& words);
    boost::program_options::typed_value<std::string>* make_value(const char* placeholder) const;

    std::string command_, synopsis_, about_, epilogue_;
    boost::program_options::options_description visible_;
    boost::program_options::options_description hidden_;
    boost::program_options::positional_options_description positions_;
    boost::program_options::variables_map values_;
};

/// 'text', for messages.
std::string in_quotes(const std::string& text);

/// The whole text as a finite number / an integer, or nothing.
std::optional<double> parse_number(const std::string& text);
std::optional<std::int64_t> parse_integer(const std::string& text);

} // namespace graft::cli
