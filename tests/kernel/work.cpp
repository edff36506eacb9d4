// SPDX-License-Identifier: BSL-1.0

// Real work that a sandbox must not get in the way of.

#include <thread>

#include "kernel/support.hpp"

using namespace kernel_tests;

namespace {

/// A script in a mode, and what it must print; an empty expectation asks only for success.
struct Job {
  const char* what;
  std::vector<std::string> programs;  ///< what must be installed for it
  std::string script;
  std::string expected;
  bool needs_temp = false;  ///< which Landlock alone can't give to a read-only command
};

bool installed(const Job& job) {
  return std::all_of(job.programs.begin(), job.programs.end(),
                     [](const std::string& name) { return has_program(name); });
}

template <class U>
void must_work(const Place& place, const Job& job) {
  if (!installed(job)) return;
  const Attempt attempt = run_under<U>(place, cordon::shell("set -e; " + job.script));
  INFO(job.what << " in " << U::Mode::name << "\n" << attempt.out << attempt.err);
  CHECK(attempt.status == 0);
  if (!job.expected.empty()) CHECK(attempt.out == job.expected);
}

const std::string git = "git -c user.name=t -c user.email=t@example.invalid -c init.defaultBranch=main ";

}  // namespace

TEMPLATE_LIST_TEST_CASE("Work in workspace-write", "[work]", Writing) {
  const std::vector<Job> jobs{
      {"git: init, commit, worktree, status (F54)",
       {"git"},
       git + "init -q repo; cd repo; echo a >a; git add a; " + git +
           "commit -qm one; git worktree add -q ../tree -b other; "
           "cd ../tree; echo b >b; git add b; " +
           git + "commit -qm two; git status --short; git log --oneline | wc -l",
       "2\n"},
      {"python: a tree of files",
       {"python3"},
       "/usr/bin/python3 -c 'import os, shutil; os.makedirs(\"x/y/z\"); open(\"x/y/z/f\", \"w\").write(\"1\"); "
       "shutil.copytree(\"x\", \"x2\"); os.replace(\"x2/y/z/f\", \"x2/g\"); shutil.rmtree(\"x\"); "
       "print(os.listdir(\"x2\").__len__())'",
       "2\n"},
      {"python: a virtual environment",
       {"python3"},
       "/usr/bin/python3 -m venv --without-pip v; v/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix)'; "
       "/usr/bin/python3 -m venv --without-pip --copies c; c/bin/python -c 'print(1)'; rm -r v",
       "True\n1\n"},
      {"npm: pack a local package, install it from the archive and from its directory",
       {"npm"},
       "export HOME=\"$PWD/home\" npm_config_cache=\"$PWD/home/cache\"; mkdir home lib app; "
       "npm='npm --offline --silent --no-audit --no-fund --no-update-notifier'; "
       "printf '{\"name\":\"lib\",\"version\":\"1.0.0\",\"main\":\"i.js\",\"scripts\":{\"prepack\":\"echo x >made\"}}' "
       ">lib/package.json; echo 'module.exports = 41' >lib/i.js; "
       "printf '{\"name\":\"app\",\"version\":\"1.0.0\",\"scripts\":{\"test\":\"node t.js\"}}' >app/package.json; "
       "echo 'console.log(require(\"lib\") + 1)' >app/t.js; cd lib; $npm pack >/dev/null; test -e made; cd ../app; "
       "$npm install ../lib/lib-1.0.0.tgz >/dev/null; $npm test; $npm install ../lib >/dev/null; "
       "test -L node_modules/lib; $npm test; cd ..; rm -r app",
       "42\n42\n"},
      {"python: semaphores and a pool (F43)",
       {"python3"},
       "/usr/bin/python3 -c 'import multiprocessing as m; m.Semaphore(); print(sum(m.Pool(2).map(abs, [-1, -2])))'",
       "3\n"},
      {"python: a pseudo terminal (F45, SBX-K14)",
       {"python3"},
       "/usr/bin/python3 -c 'import pty; pty.openpty(); print(1)'",
       "1\n"},
      {"mktemp, wherever TMPDIR led (T-KRN-20, F39, SBX-K8)",
       {},
       "f=$(mktemp); echo x >\"$f\"; cat \"$f\"; mktemp -d >/dev/null",
       "x\n"},
      {"tar",
       {"tar"},
       "mkdir -p t/d; echo 1 >t/d/f; chmod 751 t/d; ln -s d/f t/l; tar cf t.tar t; rm -r t; tar xpf t.tar; stat -c %a "
       "t/d; cat t/l",
       "751\n1\n"},
      {"cp -a and mv across directories (F47)",
       {},
       "mkdir a b; echo 1 >a/f; ln a/f a/hard; cp -a a c; mv a/f b/; mv b c; ls c c/b",
       "c:\nb\nf\nhard\n\nc/b:\nf\n"},
      {"make -j2 of a small project",
       {"make", "cc"},
       "printf 'int f(void);int main(void){return f();}\\n' >m.c; printf 'int f(void){return 0;}\\n' >f.c; "
       "printf 'p: m.o f.o\\n\\tcc -o p m.o f.o\\n' >Makefile; make -s -j2; ./p; echo built",
       "built\n"},
      {"a descendant is started, listed and ended (T-KRN-04)",
       {},
       "sleep 60 & test -d /proc/$!; kill $!; wait $! || echo ended",
       "ended\n"},
      {"metadata in the workspace",
       {},
       "touch f; chmod 640 f; touch -d 2001-01-01 f; stat -c '%a %y' f | cut -c1-14",
       "640 2001-01-01\n"},
      {"a FIFO of its own", {}, "mkfifo f; echo through >f & cat f", "through\n"},
      {"a socket of its own",
       {"python3"},
       "/usr/bin/python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.bind(\"s\"); s.listen(); "
       "c = socket.socket(socket.AF_UNIX); c.connect(\"s\"); print(1)'",
       "1\n"},
      {"process substitution and /dev/fd",
       {},
       "cat <(echo one) >/dev/fd/1; echo two | tee /dev/stderr >/dev/null",
       "one\n"},
  };
  for (const Job& job : jobs) {
    const Place place;
    if (!usable<TestType>(place)) return;
    must_work<TestType>(place, job);
    CHECK_FALSE(place.outside_changed());
  }
}

TEMPLATE_LIST_TEST_CASE("mktemp works wherever TMPDIR of the command leads (T-KRN-20, F39, SBX-K8)", "[work]",
                        Writing) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const Scratch elsewhere("/var/tmp");
  for (const std::string& directory : {elsewhere.path(), std::string("/tmp/no/such/directory"), place.outside(),
                                       std::string("/"), std::string("relative"), place.in("sub"), std::string()}) {
    cordon::process::RunOptions options = plain_options();
    options.environment.push_back("TMPDIR=" + directory);
    const Attempt attempt = run_under<TestType>(
        place, cordon::shell("set -e; f=$(mktemp); echo x >\"$f\"; cat \"$f\"; rm \"$f\"; rmdir \"$(mktemp -d)\""),
        options);
    INFO("TMPDIR=" << directory << "\n" << attempt.err);
    CHECK(attempt.status == 0);
    CHECK(attempt.out == "x\n");
    CHECK_FALSE(place.outside_changed());
    CHECK(std::filesystem::is_empty(elsewhere.path()));
  }
}

TEMPLATE_LIST_TEST_CASE("A write that read-only denied lands under workspace-write, and nothing else (T-KRN-11)",
                        "[work]", KernelBackends) {
  const Place place;
  using ReadingHere = Under<TestType, cordon::ReadOnly>;
  using WritingHere = Under<TestType, cordon::WorkspaceWrite>;
  if (!usable<ReadingHere>(place) || !usable<WritingHere>(place)) return;
  const cordon::Argv command({"/bin/sh", "-c", "echo x >sub/new"});
  const Tree before = tree_of(place.workspace());
  CHECK_FALSE(run_under<ReadingHere>(place, command).succeeded());
  CHECK(tree_of(place.workspace()) == before);
  CHECK(run_under<WritingHere>(place, command).succeeded());
  Tree after = tree_of(place.workspace());
  CHECK(after.erase("/sub/new") == 1);
  Tree rest = before;
  for (Tree* tree : {&after, &rest}) tree->erase("/sub");  // its times
  CHECK(after == rest);
  CHECK_FALSE(place.outside_changed());
}

TEMPLATE_LIST_TEST_CASE("Fifty commands leave nothing behind on the host (F24)", "[work]", Writing) {
  const std::string mark = "cordon-" + std::to_string(::getpid()) + "-";
  const auto made = [&] {
    std::vector<std::string> all;
    for (const char* directory : {"/tmp", "/var/tmp", "/dev/shm"})
      for (const auto& entry : std::filesystem::directory_iterator(directory))
        if (entry.path().filename().string().starts_with(mark)) all.push_back(entry.path().string());
    std::sort(all.begin(), all.end());
    return all;
  };
  const Place place;
  if (!usable<TestType>(place)) return;
  const std::vector<std::string> before = made();
  {
    HarnessOf<TestType> fresh;
    const auto policy = policy_for<cordon::WorkspaceWrite>(place.workspace());
    for (int i = 0; i != 50; ++i) {
      const Attempt attempt = attempt_of(fresh.run(
          policy, cordon::Argv({"/bin/sh", "-c", ": >\"/tmp/$1$$\"; : >\"/dev/shm/$1$$\"", "sh", mark + "left-"}),
          plain_options()));
      REQUIRE(attempt.succeeded());
    }
    if (!Facts<TestType>::own_temp) {  // said to be shared: the commands' own files are there, and nothing else
      CHECK(made().size() == before.size() + 100);
      on_the_host("rm /tmp/" + mark + "left-* /dev/shm/" + mark + "left-*");
    }
    CHECK(made().size() <= before.size() + 2);  // what the session sees as /tmp and /dev/shm
  }
  CHECK(made() == before);
}

TEMPLATE_LIST_TEST_CASE("Work in read-only", "[work]", Reading) {
  Place place;
  if (!usable<TestType>(place)) return;
  if (has_program("git")) on_the_host("cd '" + place.workspace() + "' && git init -q . && git add mine");
  const Tree before = tree_of(place.workspace());
  const std::vector<Job> jobs{
      {"the tree is read", {}, "cat mine; cat /etc/passwd >/dev/null; ls -lR . >/dev/null", "12345678"},
      {"programs run", {}, "/bin/true; uname >/dev/null; echo $((1 + 1))", "2\n"},
      {"sinks (T-KRN-02, F44)",
       {},
       "for s in null zero random urandom; do echo x >/dev/$s; done; echo x 2>/dev/null >/dev/full || echo full",
       "full\n"},
      {"git status", {"git"}, "git status --short mine", "A  mine\n"},
      {"a pipe", {}, "seq 100000 | sort -rn | head -n 1", "100000\n"},
      {"python",
       {"python3"},
       "/usr/bin/python3 -c 'import json, multiprocessing as m; m.Semaphore(); print(1)'",
       "1\n",
       true},
      {"mktemp", {}, "f=$(mktemp); echo x >\"$f\"; cat \"$f\"", "x\n", true},
      {"a pseudo terminal", {"python3"}, "/usr/bin/python3 -c 'import pty; pty.openpty(); print(1)'", "1\n"},
  };
  for (const Job& job : jobs)
    if (Facts<TestType>::own_temp || !job.needs_temp) must_work<TestType>(place, job);
  CHECK(tree_of(place.workspace()) == before);
  CHECK_FALSE(place.outside_changed());
}

TEMPLATE_LIST_TEST_CASE("A here-document that is too large for a pipe (lessons 6)", "[work]", Confinements) {
  const Place place;
  if (!usable<TestType>(place)) return;
  if (!Facts<TestType>::own_temp && std::is_same_v<typename TestType::Mode, cordon::ReadOnly>) {
    SUCCEED("Landlock alone has no temp directory to give");
    return;
  }
  write_file(place.in("script"), "cat <<'END' | wc -c\n" + std::string(299999, 'x') +
                                     "\nEND\nwc -c <<<\"$(head -c 200000 /dev/zero | tr '\\0' y)\"\n");
  cordon::process::RunOptions options = plain_options();
  if (GENERATE(false, true)) options.environment.push_back("TMPDIR=/nonexistent/directory");
  const Attempt attempt = run_under<TestType>(place, cordon::Argv({"bash", "script"}), options);
  INFO(attempt.err);
  CHECK(attempt.status == 0);
  CHECK(attempt.out == "300000\n200001\n");
}

TEMPLATE_LIST_TEST_CASE("A pseudo terminal for a program that wants one", "[work]", Confinements) {
  const Place place;
  if (!usable<TestType>(place) || !has_program("script")) return;
  const Attempt attempt = run_under<TestType>(
      place, cordon::Argv({"script", "-qec", "test -t 0 && test -t 1 && echo terminal", "/dev/null"}));
  INFO(attempt.out << attempt.err);
  CHECK(attempt.status == 0);
  CHECK(attempt.out.find("terminal") != std::string::npos);
}

TEMPLATE_LIST_TEST_CASE("Workspaces with odd names and places (F31, F38)", "[work]", Confinements) {
  const std::string name = GENERATE("with space", "it's \"quoted\"", "new\nline", "umlaut-\xc3\xbc-\xe2\x82\xac",
                                    "-dash", "$(id)", "back\\slash", "a:b,c", "tab\there", "--", "trailing ");
  const std::string parent = GENERATE(std::string("/tmp"), test_directory());
  const Place place(parent, name);
  if (!usable<TestType>(place)) return;
  const bool writable = std::is_same_v<typename TestType::Mode, cordon::WorkspaceWrite>;
  const Attempt attempt = run_under<TestType>(
      place, cordon::Argv({"/bin/sh", "-c", "cat mine; echo x >new; echo x >\"$1/new\"; echo x >../outside/new", "sh",
                           place.outside()}));
  INFO(parent << "/…/" << name << ": " << attempt.err);
  CHECK(attempt.out == "12345678");
  CHECK(exists(place.in("new")) == writable);
  if (parent != "/tmp" || Facts<TestType>::own_temp || !writable) CHECK_FALSE(place.outside_changed());
}

TEMPLATE_LIST_TEST_CASE("/tmp itself as the workspace (F38)", "[work]", Writing) {
  const Place place;
  if (!usable<TestType>(place)) return;
  const std::string file = "/tmp/cordon-kernel-test-" + std::to_string(::getpid());
  CHECK(run_under<TestType>(policy_for<cordon::WorkspaceWrite>("/tmp"),
                            cordon::Argv({"/bin/sh", "-c", "echo x >\"$1\"", "sh", file}))
            .succeeded());
  CHECK(exists(file));
  ::unlink(file.c_str());
}

TEMPLATE_LIST_TEST_CASE("Runs at the same time, in different modes, keep apart", "[work]", KernelBackends) {
  using ReadingHere = Under<TestType, cordon::ReadOnly>;
  using WritingHere = Under<TestType, cordon::WorkspaceWrite>;
  const Place places[4];
  if (!usable<ReadingHere>(places[0]) || !usable<WritingHere>(places[0])) return;
  std::array<std::string, 4> wrong;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i != 4; ++i)
    threads.emplace_back([&, i] {
      const Place& own = places[i];
      const Place& other = places[(i + 1) % 4];
      for (int round = 0; round != 6; ++round) {
        const cordon::Argv command({"/bin/sh", "-c",
                                    "echo own >\"$1\" && echo landed; echo other >\"$2\" && echo escaped; exit 0", "sh",
                                    own.in("by-its-own"), other.in("by-another")});
        const bool writing = i % 2 == 1;
        const Attempt attempt = writing ? run_under<WritingHere>(own, command) : run_under<ReadingHere>(own, command);
        if (attempt.out != (writing ? "landed\n" : "") || attempt.status != 0) wrong[i] += attempt.out + attempt.err;
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i != 4; ++i) {
    CHECK(wrong[i] == "");
    CHECK(exists(places[i].in("by-its-own")) == (i % 2 == 1));
    CHECK_FALSE(exists(places[i].in("by-another")));
    CHECK_FALSE(places[i].outside_changed());
  }
}
