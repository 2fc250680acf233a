// SPDX-License-Identifier: BSD-3-Clause
#include "command/arguments.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <sstream>

namespace graft::cli {

namespace po = boost::program_options;

Arguments::Arguments(std::string command, std::string synopsis, std::string about, bool json_only)
    : command_(std::move(command)), synopsis_(std::move(synopsis)), about_(std::move(about)),
      visible_("Options", 100, 60) {
    visible_.add_options()("help,h", "this text")("json", json_only ? "as without it: the answer is JSON"
                                                                    : "print the answer as JSON");
    value("library", "FILE",
          "libgraft to load (else GRAFT_LIBRARY, else the one that belongs to this command)");
}

po::typed_value<std::string>* Arguments::make_value(const char* placeholder) const {
    return po::value<std::string>()->value_name(placeholder);
}

Arguments& Arguments::value(const char* name, const char* placeholder, const char* def, const char* help) {
    visible_.add_options()(name, make_value(placeholder)->default_value(def), help);
    return *this;
}

Arguments& Arguments::value(const char* name, const char* placeholder, const char* help) {
    visible_.add_options()(name, make_value(placeholder), help);
    return *this;
}

Arguments& Arguments::list(const char* name, const char* placeholder, const char* help) {
    visible_.add_options()(name, po::value<std::vector<std::string>>()->composing()->value_name(placeholder),
                           help);
    return *this;
}

Arguments& Arguments::flag(const char* name, const char* help) {
    visible_.add_options()(name, help);
    return *this;
}

Arguments& Arguments::positional(const char* name, int most) {
    positions_.add(name, most);
    if (most == 1) {
        hidden_.add_options()(name, po::value<std::string>());
    } else {
        hidden_.add_options()(name, po::value<std::vector<std::string>>());
    }
    return *this;
}

Arguments& Arguments::epilogue(std::string text) {
    epilogue_ = std::move(text);
    return *this;
}

std::string Arguments::help() const {
    std::ostringstream out;
    out << "graft " << command_ << " " << synopsis_ << "\n\n" << about_ << "\n\n" << visible_;
    if (!epilogue_.empty()) {
        out << "\n" << epilogue_ << "\n";
    }
    return out.str();
}

void Arguments::run_parser(const std::vector<std::string>& words) {
    po::options_description all;
    all.add(visible_).add(hidden_);
    // No abbreviations: a script must not change its meaning when an option is added.
    const int style = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    try {
        po::store(po::command_line_parser(words).options(all).positional(positions_).style(style).run(),
                  values_);
        po::notify(values_);
    } catch (const po::too_many_positional_options_error&) {
        throw UsageError({"too many arguments", "graft " + command_, "graft " + command_ + " " + synopsis_,
                          "", "graft " + command_ + " --help"});
    } catch (const po::error& error) {
        throw UsageError({error.what(), "graft " + command_, "", "", "graft " + command_ + " --help"});
    }
}

bool Arguments::parse(const std::vector<std::string>& words) {
    run_parser(words);
    if (values_.count("help") != 0) {
        std::fputs(help().c_str(), stdout);
        return false;
    }
    return true;
}

bool Arguments::has(const std::string& name) const {
    return values_.count(name) != 0;
}

std::optional<std::string> Arguments::text(const std::string& name) const {
    return has(name) ? std::optional(values_[name].as<std::string>()) : std::nullopt;
}

std::vector<std::string> Arguments::texts(const std::string& name) const {
    return has(name) ? values_[name].as<std::vector<std::string>>() : std::vector<std::string>{};
}

void Arguments::fail(const std::string& what, const std::string& expected, const std::string& found) const {
    throw UsageError({what, "graft " + command_, expected, found, "graft " + command_ + " --help"});
}

std::string Arguments::required(const std::string& name) const {
    if (!has(name)) {
        fail("missing argument", "graft " + command_ + " " + synopsis_, "no " + name);
    }
    return values_[name].as<std::string>();
}

double Arguments::number(const std::string& name) const {
    const auto value = parse_number(required(name));
    if (!value) {
        fail(std::string("--").append(name) + " is no number", "a finite number", in_quotes(required(name)));
    }
    return *value;
}

std::int64_t Arguments::integer(const std::string& name, std::int64_t least, std::int64_t most) const {
    const auto value = parse_integer(required(name));
    if (!value || *value < least || *value > most) {
        fail(std::string("--").append(name) + (value ? " is out of range" : " is no whole number"),
             "a whole number from " + std::to_string(least) + " to " + std::to_string(most),
             in_quotes(required(name)));
    }
    return *value;
}

std::string in_quotes(const std::string& text) {
    return std::string("'").append(text).append("'");
}

std::optional<double> parse_number(const std::string& text) {
    double value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = problem == std::errc() && end == text.data() + text.size();
    return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> parse_integer(const std::string& text) {
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem == std::errc() && end == text.data() + text.size()) {
        return value;
    }
    // "1e6" is how people write a million particles.
    const auto number = parse_number(text);
    const bool whole = number && std::abs(*number) < 9e15 && *number == std::floor(*number);
    return whole ? std::optional(static_cast<std::int64_t>(*number)) : std::nullopt;
}

} // namespace graft::cli
