// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#ifdef __linux__
#include <sys/vfs.h>
#endif

#include <leasehold/errors.hpp>
#include <leasehold/text.hpp>

namespace leasehold::inline v0_1_0::detail::sqlite {

/// The path of a file that is there or is to be made, from the root on, since the process's folder later must not
/// matter, and with every symbolic link followed: a file's journal and gate are beside the file, and two names of it
/// must not come to two of them. Throws `std::invalid_argument` for a path that names no file.
inline std::string file_place(const std::string& path) {
    if (path.empty() || path.find('\0') != std::string::npos || path == ":memory:") {
        throw std::invalid_argument{"path: " + readable(path) +
                                    " names no file (see memory_store for jobs that live in memory)"};
    }
    namespace fs = std::filesystem;
    fs::path place = fs::absolute(path);
    std::error_code unknown;
    constexpr int most_links = 40;  // as the kernel: then it goes in circles, and opening it says so
    for (int i = 0; i < most_links && fs::is_symlink(fs::symlink_status(place, unknown)); ++i) {
        const fs::path target = fs::read_symlink(place, unknown);
        if (unknown) {
            break;
        }
        place = place.parent_path() / target;  // a target from the root on replaces all
    }
    const fs::path folder = fs::weakly_canonical(place.parent_path(), unknown);
    return unknown ? place.string() : (folder / place.filename()).string();
}

/// A file system that the files of more than one machine can be on, by what statfs(2) calls it.
struct remote_file_system {
    std::uint32_t type;
    std::string_view name;  ///< in lower case, as `sqlite_options::trusted_file_system` has it
};

inline constexpr std::string_view in_user_space = "fuse";

inline constexpr std::array remote_file_systems{
    remote_file_system{0x00006969, "nfs"},    remote_file_system{0x0000517B, "smb"},
    remote_file_system{0xFE534D42, "smb"},    remote_file_system{0xFF534D42, "smb"},
    remote_file_system{0x5346414F, "afs"},    remote_file_system{0x6B414653, "afs"},
    remote_file_system{0x00C36400, "ceph"},   remote_file_system{0x01021997, "9p"},
    remote_file_system{0x0BD00BD0, "lustre"}, remote_file_system{0x47504653, "gpfs"},
    remote_file_system{0x73757245, "coda"},   remote_file_system{0x0000564C, "ncp"},
    remote_file_system{0x19830326, "beegfs"}, remote_file_system{0x65735546, in_user_space},
};

/// The name of the remote file system that a path is on; empty for a local one, and where the system does not tell.
inline std::string_view remote_file_system_of([[maybe_unused]] const std::string& path) noexcept {
#ifdef __linux__
    struct statfs found {};
    if (::statfs(path.c_str(), &found) == 0) {
        const auto type = static_cast<std::uint32_t>(found.f_type);  // the sign of it differs between machines
        const auto* const known = std::find_if(remote_file_systems.begin(), remote_file_systems.end(),
                                               [&](const auto& each) { return each.type == type; });
        return known == remote_file_systems.end() ? std::string_view{} : known->name;
    }
#endif
    return {};
}

/// Throws `store_unsupported` where the file is, or would be made, on a file system whose locks and syncs are not this
/// machine's own, unless that is the one which `trusted` names. Asked with a path alone: a descriptor of the file, once
/// closed, would drop the engine's locks on it.
inline void refuse_remote(const std::string& place, std::string_view trusted) {
    std::string_view name = remote_file_system_of(place);
    if (name.empty()) {
        name = remote_file_system_of(std::filesystem::path{place}.parent_path().string());
    }
    if (name.empty() || name == trusted) {
        return;
    }
    const std::string why =
        name == in_user_space
            ? " is on a file system in user space (FUSE): whether its locks hold and its syncs last only its maker "
              "knows"
            : " is on a network file system (" + std::string{name} +
                  "): its locks and its shared memory do not hold between machines, and a job could be given twice";
    throw store_unsupported{place + why +
                            ". Keep the file on a local disk; or, if you know better, set "
                            "sqlite_options::trusted_file_system to \"" +
                            std::string{name} + "\""};
}

}  // namespace leasehold::inline v0_1_0::detail::sqlite
