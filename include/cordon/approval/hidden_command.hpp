// SPDX-License-Identifier: BSL-1.0
#pragma once

// Programs that run what their arguments say. A table of those that are known to, and no proof that another does not.

#include <algorithm>
#include <array>
#include <cordon/process/environment.hpp>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cordon {

namespace detail {

using process::detail::listed;

/// What follows any of these is a command, a script or a program text, or can be: builtins of a shell, programs that
/// start a command, shells, interpreters, editors, pagers and consoles. By their first letters, since compilers look
/// here too.
inline constexpr std::string_view runs_its_arguments[] = {
    ".",
    "R Rscript",
    "abduco ansible ansible-playbook ash at autossh awk",
    "bash batch bear bind bpftrace builtin bun bunx busybox bwrap byobu bzless bzmore",
    "capsh catchsegv ccache cgexec chdir chpst chronic chroot chrt clisp command compgen compiledb complete "
    "concurrently context coproc corepack cov-build cpulimit crontab cross-env csh csi csvpy",
    "daemonize dart dash dbus-launch dbus-run-session dc declare deno distcc doas dotenv dotlockfile dtach dtrace "
    "duckdb dumb-init",
    "eatmydata ed elixir elvish emacs emacsclient enable entr env env-cmd envdir envuidgid erl es escript eval ex "
    "exec exiftool exim expect export",
    "fakechroot fakeroot faketime fc file-rename firejail fish flock foreman forever frawk ftp fzf",
    "gawk gdb gdbserver getopts gforth ghci ghostscript gksu gksudo gnuplot goawk gosu groovy gs gsc gtime guile "
    "gvim",
    "honcho hyperfine",
    "i386 icecc iex ifne incrontab info intercept-build ionice ipython irb",
    "java jjs jobs joe jruby js jshell julia",
    "kdesu kotlin ksh ksh93 ksu",
    "latexmk lazygit lckdo ldd less let lftp libtool linux32 linux64 lldb lnav local ltrace lua luahbtex luajit "
    "lualatex luatex lxc-attach lxc-execute lxc-start",
    "m4 machinectl mail mailx man mapfile mariadb mawk maxima mc mcedit micro mispipe mksh mlr mongo mongosh mono "
    "more mosh most mpiexec mpirun mutt mysql",
    "nail nano nawk nc ncat neomutt netcat newgrp nice nnn node nodejs nodemon nohup npx nsenter nu numactl nvim",
    "ocaml octave oil openvt original-awk osh overmind",
    "parallel pcre2grep pcregrep pdb pdsh pee perf perl pg pgbench php php-cgi pico pipx pkexec please pm2 "
    "powershell prename prlimit proot proxychains psql puppet pwsh pypy python pythonw",
    "qemu",
    "racket raku rakudo ranger rbash rc read readarray readonly rename rexec rksh rlogin rlwrap rr rsh ruby "
    "run-mailcap run-parts run0 runcon runghc runhaskell runuser rview rvim rzsh",
    "s-nail sage sbcl scala scan-build sccache scheme schroot scilab screen script scriptlive sem sendmail "
    "sensible-editor sensible-pager setarch setlock setpriv setsid setuidgid sg sh slogin socat softlimit sotruss "
    "source "
    "sqlite sqlite3 sqlplus srun ssh sshpass stap start-stop-daemon startx stdbuf strace su su-exec sudo sudoedit "
    "swift swipl systemd-cat systemd-inhibit systemd-nspawn systemd-run systemd-socket-activate",
    "taskset tclsh tcsh telnet texlua tig time timeout tini tmux torify torsocks toybox trap trickle ts-node tsocks "
    "tsx typeset",
    "unbuffer unset unshare uvx",
    "valgrind vd vi vidir view vifm vim vimdiff vipe vipw visidata visudo",
    "wait watch watchexec watchman wine wish with-lock-ex wolframscript",
    "xargs xdg-open xinit xonsh xvfb-run xzless xzmore",
    "yash ysh",
    "zless zmore zsh zstdless",
};

[[nodiscard]] constexpr bool runs_arguments(std::string_view program) noexcept {
  return std::any_of(std::begin(runs_its_arguments), std::end(runs_its_arguments), [&](std::string_view programs) {
    return program.starts_with(programs.front()) && listed(program, programs);
  });
}

/// Which arguments of a program make it run a command, load code, read its options from elsewhere, or write over a file
/// that none of its other arguments names.
struct HidingArguments {
  std::string_view programs;
  std::string_view anywhere = {};  ///< words behind which there is always a command, whichever it is
  std::string_view long_options = {};
  std::string_view single_options = {};  ///< words of one dash, for those that read them whole
  std::string_view letters = {};         ///< anywhere in a word of one dash
  std::string_view first_letters = {};   ///< right behind the dash
  std::string_view beginnings = {};      ///< of any word: characters
  std::string_view part = {};            ///< of any word
  bool assignments = false;              ///< NAME=VALUE
};

inline constexpr HidingArguments hiding_arguments[] = {
    {.programs = "find gfind", .single_options = "exec execdir ok okdir delete fprint fprint0 fprintf fls files0-from"},
    {.programs = "fd fdfind", .long_options = "exec exec-batch", .letters = "xX"},
    {.programs = "tar gtar bsdtar",
     .long_options = "to-command checkpoint-action use-compress-program rsh-command rmt-command info-script "
                     "new-volume-script files-from",
     .letters = "IFT",
     .part = ":"},  // of a file on another machine, that a program named rsh fetches
    {.programs = "cpio mt", .long_options = "rsh-command", .part = ":"},
    {.programs = "sort gsort", .long_options = "compress-program output", .letters = "o"},
    {.programs = "split gsplit", .long_options = "filter"},
    {.programs = "rsync", .long_options = "rsh rsync-path daemon config", .letters = "e"},
    {.programs = "scp sftp", .letters = "SoFDb"},
    {.programs = "rg", .long_options = "pre hostname-bin"},
    {.programs = "ag ack bat batcat delta", .long_options = "pager ackrc"},
    {.programs = "make gmake bmake remake",
     .long_options = "eval file makefile directory include-dir",
     .letters = "fCIE",
     .assignments = true},
    {.programs = "ninja samu", .letters = "fCt"},
    {.programs = "cmake", .anywhere = "--", .long_options = "toolchain preset", .first_letters = "PECD"},
    {.programs = "ctest", .long_options = "build-and-test test-command build-makeprogram", .first_letters = "SD"},
    {.programs = "npm pnpm yarn yarnpkg",
     .anywhere = "exec x dlx explore edit create init innit config set",
     .long_options =
         "script-shell call node-options globalconfig userconfig prefix git node-gyp shell editor viewer init-module",
     .first_letters = "cC"},
    {.programs = "uv poetry pipenv conda mamba micromamba hatch pdm rye bundle mise asdf rbenv pyenv direnv opam stack "
                 "cabal dotnet nix",
     .anywhere = "run exec shell x tool develop"},
    {.programs = "docker podman nerdctl buildah kubectl oc crictl lxc incus flatpak vagrant",
     .anywhere = "run exec create debug attach build buildx bake ssh start"},
    {.programs = "cargo rustc",
     .anywhere = "run r",
     .long_options = "config codegen sysroot",
     .first_letters = "ZC",
     .beginnings = "+"},
    {.programs = "go",
     .anywhere = "run generate tool",
     .long_options = "exec toolexec vettool overlay modfile C",
     .single_options = "exec toolexec vettool overlay modfile C",
     .part = "extld"},
    {.programs = "cc c++ gcc g++ clang clang++ cpp gfortran gdc gccgo",
     .long_options = "ld-path config prefix specs plugin wrapper sysroot load pass-plugin",
     .single_options = "wrapper fplugin fpass-plugin specs load Xclang Xlinker fuse-ld fno-integrated-as",
     .first_letters = "B",
     .beginnings = "@",
     .part = "Wl,"},
    {.programs = "ld gold lld ar nm ranlib objdump strip clang-tidy",
     .long_options = "plugin load",
     .single_options = "plugin load",
     .beginnings = "@"},
    {.programs = "tcc zig nim crystal v dune", .anywhere = "run r exec utop", .single_options = "run"},
    {.programs = "ghc", .single_options = "e F", .beginnings = "@", .part = "pgm"},
    {.programs = "javac javadoc",
     .single_options = "processor processorpath plugin doclet docletpath",
     .first_letters = "J",
     .beginnings = "@"},
    {.programs = "mvn mvnw mvnd",
     .long_options = "file settings global-settings",
     .first_letters = "fsgD",
     .part = ":"},
    {.programs = "gradle gradlew",
     .long_options = "init-script build-file project-dir settings-file include-build",
     .first_letters = "IbpcD"},
    {.programs = "pytest",
     .long_options = "rootdir confcutdir override-ini config-file pdbcls",
     .first_letters = "pco"},
    {.programs = "tox nox", .anywhere = "exec e", .long_options = "conf noxfile", .first_letters = "cf"},
    {.programs = "rake",
     .long_options = "execute execute-print execute-continue require rakefile rakelibdir libdir",
     .letters = "efErRIp"},
    {.programs = "just",
     .long_options = "command shell shell-arg justfile working-directory set chooser edit",
     .first_letters = "cfde"},
    {.programs = "cppcheck", .long_options = "addon addon-python clang"},
    {.programs = "pip", .anywhere = "edit", .long_options = "python editor global-option build-option config-settings"},
    {.programs = "pandoc", .long_options = "filter lua-filter pdf-engine defaults data-dir", .letters = "FLd"},
    {.programs = "tex etex latex pdftex pdflatex xetex xelatex mf mpost",
     .long_options = "shell-escape enable-write18 progname",
     .single_options = "shell-escape enable-write18 progname"},
    {.programs = "groff troff pic", .letters = "U"},
    {.programs = "openssl",
     .long_options = "engine provider provider-path config",
     .single_options = "engine provider provider-path config"},
    {.programs = "gpg gpgsm gpgv",
     .long_options =
         "agent-program dirmngr-program keyboxd-program photo-viewer exec-path options homedir keyserver-options"},
    {.programs = "ssh-keygen", .letters = "Dw"},
    {.programs = "ssh-add", .letters = "sS"},
    {.programs = "sshfs", .letters = "oF"},
    {.programs = "rpm rpmbuild rpmspec", .long_options = "eval define load macros rcfile pipe", .letters = "DE"},
    {.programs = "ugrep ug", .long_options = "filter pager view config", .letters = "Q"},
    {.programs = "yt-dlp youtube-dl",
     .long_options = "exec exec-before-download config-locations plugin-dirs downloader external-downloader netrc-cmd"},
    {.programs = "aria2c",
     .long_options = "on-download-start on-download-pause on-download-stop on-download-complete on-download-error "
                     "on-bt-download-complete conf-path"},
    {.programs = "restic borg rclone",
     .long_options = "password-command option rsh config sftp-ssh",
     .letters = "o",
     .part = "ssh="},
    {.programs = "helm kubectl oc", .long_options = "kubeconfig post-renderer"},
    {.programs = "jest vitest mocha eslint stylelint prettier babel webpack rollup pylint",
     .long_options = "config require import init-hook load-plugins plugin rulesdir parser resolve-plugins-relative-to",
     .first_letters = "cr"},
    {.programs = "rspec rubocop", .long_options = "require", .first_letters = "r"},
    {.programs = "mix", .anywhere = "run eval do", .first_letters = "e"},
    {.programs = "iptables ip6tables", .long_options = "modprobe", .first_letters = "M"},
    {.programs = "tshark dumpcap", .first_letters = "X"},
    {.programs = "bazel", .anywhere = "run", .long_options = "workspace_status_command run_under bazelrc"},
    {.programs = "convert identify magick mogrify composite montage sox", .part = "|"},
    {.programs = "coredumpctl", .anywhere = "debug gdb", .long_options = "debugger"},
    {.programs = "snap", .anywhere = "run"},
    {.programs = "cvs", .first_letters = "d"},
    {.programs = "wget", .long_options = "execute use-askpass config", .letters = "e"},
    {.programs = "curl", .long_options = "config", .letters = "K"},
    {.programs = "apt apt-get apt-cache aptitude", .long_options = "option config-file", .letters = "oc"},
    {.programs = "dpkg", .long_options = "pre-invoke post-invoke status-logger"},
    {.programs = "zip", .long_options = "unzip-command test", .letters = "T"},
    {.programs = "patch", .long_options = "ed get", .letters = "eg"},
    {.programs = "diff3 sdiff", .long_options = "diff-program", .letters = "o"},
    {.programs = "install ginstall", .long_options = "strip-program"},
    {.programs = "hg", .long_options = "config config-file repository cwd ssh remotecmd tool", .first_letters = "Re"},
    {.programs = "svn", .long_options = "diff-cmd diff3-cmd editor-cmd config-option config-dir"},
    {.programs = "gh", .anywhere = "alias extension extensions ext ssh codespace cs --"},
    {.programs = "ip tc", .anywhere = "exec", .long_options = "batch", .first_letters = "b"},
    {.programs = "tcpdump", .letters = "z"},
    {.programs = "nmap", .long_options = "script script-args"},
    {.programs = "[ test", .single_options = "v R"},
};

/// Without a version or a variant: python3.11 and python3-dbg are python, vim.basic is vim.
[[nodiscard]] constexpr std::string_view without_version(std::string_view name) noexcept {
  if (listed(name, "ssh-add ssh-keygen ssh-keyscan")) return name;
  return name.substr(0, name.find_first_of("0123456789.-"));
}

/// A long option, or the beginning of one, which is taken for it.
[[nodiscard]] constexpr bool spells_one_of(std::string_view word, std::string_view options) noexcept {
  if (!word.starts_with("--") || word.size() == 2) return false;
  const std::string_view name = word.substr(2, word.find('=') - 2);
  for (std::size_t at = 0; at < options.size();) {
    const std::size_t end = std::min(options.find(' ', at), options.size());
    if (options.substr(at, end - at).starts_with(name)) return true;
    at = end + 1;
  }
  return false;
}

[[nodiscard]] constexpr bool is_cluster(std::string_view word) noexcept {
  return word.size() > 1 && word[0] == '-' && word[1] != '-';
}

[[nodiscard]] constexpr bool hides_by(const HidingArguments& table, std::string_view word) noexcept {
  if (spells_one_of(word, table.long_options)) return true;
  if (!word.empty() && table.beginnings.find(word.front()) != std::string_view::npos) return true;
  if (!table.part.empty() && word.find(table.part) != std::string_view::npos) return true;
  if (table.assignments && word.find('=') != std::string_view::npos) return true;
  if (!is_cluster(word)) return false;
  return listed(word.substr(1, word.find('=') - 1), table.single_options) ||
         word.find_first_of(table.letters, 1) != std::string_view::npos ||
         table.first_letters.find(word[1]) != std::string_view::npos;
}

using WordSpan = std::span<const std::string_view>;

/// A command that -exec begins in the prefix ends there too.
[[nodiscard]] constexpr bool find_hides(WordSpan argv, std::size_t words) noexcept {
  bool open = false;
  for (std::size_t i = 1; i < std::min(words, argv.size()); ++i)
    open = open ? argv[i] != ";" && argv[i] != "+" : listed(argv[i], "-exec -execdir -ok -okdir");
  return open;
}

/// Global options that are not in the prefix, subcommands that run others, and options that do. `from`: the first word
/// that the prefix does not speak for.
[[nodiscard]] constexpr bool git_hides(WordSpan argv, std::size_t words, std::size_t from) noexcept {
  constexpr std::string_view harmless =
      "--no-pager -P --version --help -h --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs "
      "--icase-pathspecs --no-replace-objects --no-lazy-fetch --no-advice";
  constexpr std::string_view with_value = "-c -C --git-dir --work-tree --namespace --config-env --super-prefix";
  std::size_t at = 1;
  while (at < argv.size() && argv[at].starts_with('-')) {
    const std::size_t last = at + (listed(argv[at], with_value) ? 1 : 0);
    if (last >= words && !listed(argv[at], harmless)) return true;
    at = last + 1;
  }
  if (at >= argv.size()) return false;
  const std::string_view subcommand = argv[at];
  if (listed(subcommand,
             "citool credential cvsserver daemon difftool fast-import filter-branch for-each-repo gui hook instaweb "
             "maintenance merge-index mergetool p4 remote-ext remote-fd send-email shell submodule--helper svn "
             "upload-archive web--browse"))
    return true;
  if (at >= words && listed(subcommand, "config alias")) return true;
  constexpr HidingArguments options{
      .programs = {},
      .long_options =
          "upload-pack receive-pack open-files-in-pager ext-diff textconv output exec extcmd template "
          "config separate-git-dir"};
  const std::string_view letters = subcommand == "clone"    ? "cu"
                                   : subcommand == "rebase" ? "x"
                                   : subcommand == "grep"   ? "O"
                                                            : "";
  for (std::size_t i = at + 1; i < argv.size(); ++i) {
    if ((subcommand == "bisect" && argv[i] == "run") || (subcommand == "submodule" && argv[i] == "foreach"))
      return true;
    if (i < from || argv[i] == "--text") continue;
    if (hides_by(options, argv[i]) || argv[i].find("ext::") != std::string_view::npos) return true;
    if (is_cluster(argv[i]) && argv[i].find_first_of(letters, 1) != std::string_view::npos) return true;
  }
  return false;
}

/// A script of sed can run commands and write files. Known not to: one that prints or deletes lines by their numbers,
/// and what runs with --sandbox.
[[nodiscard]] constexpr bool sed_hides(WordSpan argv, std::size_t words) noexcept {
  constexpr std::string_view harmless = "-n -E -r -s -u -z -nE -nr --quiet --silent --regexp-extended --posix";
  if (words >= argv.size() || argv[1] == "--sandbox") return false;
  bool script = false;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    const std::string_view word = argv[i];
    if (word.size() > 1 && word.starts_with('-')) {
      if (!listed(word, harmless)) return true;
    } else if (!script) {
      script = true;
      const std::size_t end = word.find_first_not_of("0123456789,$");
      const bool by_number =
          end != std::string_view::npos && end + 1 == word.size() && (word[end] == 'p' || word[end] == 'd');
      if (i >= words && !by_number) return true;
    }
  }
  return false;
}

[[nodiscard]] constexpr bool hides_a_command(WordSpan argv, std::size_t words) noexcept {
  if (argv.empty() || words == 0) return true;
  const std::string_view program = argv[0].substr(argv[0].rfind('/') + 1);
  const std::string_view plain = without_version(program);
  const std::string_view tail = program.substr(program.rfind('-') + 1);  // x86_64-linux-gnu-gcc
  const bool versioned = plain.size() != program.size() && !plain.empty();
  if (program.starts_with("ld-linux") || program.starts_with("ld-musl") || program.starts_with("ld.so")) return true;
  if (runs_arguments(program) || (versioned && runs_arguments(plain)))
    return !(argv.size() == 2 && words == 2 && listed(argv[1], "--version --help") &&
             listed(plain, "bash node perl php python ruby"));
  // An option that ends the prefix has its value behind.
  const std::size_t from = std::max<std::size_t>(1, words < argv.size() || words == 1 ? words - 1 : words);
  if (program == "git") return git_hides(argv, words, from);
  if (listed(program, "sed gsed")) return sed_hides(argv, words);
  if (program == "printf") return argv.size() > 1 && argv[1].starts_with("-v");
  if (listed(program, "find gfind") && find_hides(argv, words)) return true;
  if (listed(program, "yarn yarnpkg pnpm") && words == 1) return true;
  for (const HidingArguments& table : hiding_arguments) {
    if (!listed(program, table.programs) && !(versioned && listed(plain, table.programs)) &&
        !(tail.size() != program.size() && listed(tail, table.programs)))
      continue;
    for (std::size_t i = 1; i < argv.size(); ++i)
      if (!argv[i].empty() && (listed(argv[i], table.anywhere) || (i >= from && hides_by(table, argv[i])))) return true;
    const bool letters_without_dash =
        listed(program, "tar gtar bsdtar") && argv.size() > 1 && !argv[1].starts_with('-');
    if (letters_without_dash && from <= 1 && argv[1].find_first_of(table.letters) != std::string_view::npos)
      return true;
  }
  return false;
}

/// Whether whatever follows these words can be anything: asked with a word behind them that no program of the table
/// takes for more than a name.
[[nodiscard]] constexpr bool leaves_a_command_open(WordSpan words) noexcept {
  constexpr std::size_t most = 32;
  std::array<std::string_view, most + 1> longer{};
  const std::size_t count = std::min(words.size(), most);
  for (std::size_t i = 0; i != count; ++i) longer[i] = words[i];
  longer[count] = "1p";
  // What is hidden without that word is with it, too.
  return hides_a_command(WordSpan(longer).first(count + 1), count) ||
         (words.size() > most && hides_a_command(words, words.size()));
}

}  // namespace detail

/// Whether the first `words` words leave open what will run, since the program is one that runs another command, a
/// script or a program text which the words behind them say, or may say: sudo, xargs, bash, python3, `find` with -exec,
/// `git` with -c, and others that are known for it, by the last component of what they are called by. A prefix of those
/// words then allows nothing.
///
/// Goes by a table, and is no proof. What a program reads from its configuration, from a repository, or from a file
/// that its arguments name, is not looked at.
[[nodiscard]] inline bool hides_a_command(const std::vector<std::string>& argv, std::size_t words) {
  const std::vector<std::string_view> views(argv.begin(), argv.end());
  return detail::hides_a_command(detail::WordSpan(views), words);
}

}  // namespace cordon
