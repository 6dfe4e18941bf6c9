"""A PostgreSQL cluster of scripts/backup-drill, and its copies: a base backup and the log that follows it.

The cluster listens on a socket and on no network. Its programs run as another user if this one is root, because
PostgreSQL refuses to run as root.
"""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

USER = "nobody"
# The roles and the database of docs/scaling.md.
ROLES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "Examples/Scaling/roles.sql")


def programs_directory():
    """The programs of the newest installed version from 15 on; None without one."""
    found = [
        (int(path.split("/")[4]), os.path.dirname(path)) for path in glob.glob("/usr/lib/postgresql/*/bin/initdb")
        if path.split("/")[4].isdigit()]
    return max((one for one in found if one[0] >= 15), default=(0, None))[1]


def as_user(arguments):
    if os.getuid() != 0:
        return arguments
    return ["setpriv", f"--reuid={USER}", "--regid=nogroup", "--clear-groups"] + arguments


def give_away(path):
    if os.getuid() == 0:
        shutil.chown(path, USER, "nogroup")


class Cluster:
    """One cluster: its data, and the directory of its socket, whose path must be short."""

    def __init__(self, programs, name, data, settings=""):
        self.programs, self.name, self.data, self.settings = programs, name, data, settings
        self.binaries = programs_directory()
        self.sockets = tempfile.mkdtemp(prefix="till-drill.", dir="/tmp")
        give_away(self.sockets)
        self.process = None

    def address(self, role):
        return f"postgres://{role}@/till?host=" + urllib.parse.quote(self.sockets, safe="")

    def program(self, name):
        return os.path.join(self.binaries, name)

    def run(self, *arguments, accepts=(0,)):
        return self.programs.run(as_user(list(arguments)), {"HOME": self.sockets}, accepts=accepts)

    def make(self):
        self.run(
            self.program("initdb"), "--pgdata", self.data, "--username=postgres", "--auth=trust", "--no-instructions",
            "--encoding=UTF8", "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en")
        self.append("postgresql.conf", f"listen_addresses = ''\nshared_buffers = 64MB\n{self.settings}\n")
        self.start()
        self.psql("postgres", "--quiet", "--file", shutil.copy(ROLES, self.sockets))

    def append(self, name, text):
        path = os.path.join(self.data, name)
        with open(path, "a") as file:
            file.write(text)
        give_away(path)

    def start(self):
        self.process, _ = self.programs.start(
            self.name, as_user([
                self.program("postgres"), "-D", self.data, "-k", self.sockets, "-c", "dynamic_shared_memory_type=mmap"]))
        ready = [self.program("pg_isready"), "-q", "-h", self.sockets, "-U", "postgres"]
        for _ in range(1200):
            if subprocess.run(ready).returncode == 0:
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        sys.exit(f"backup-drill: PostgreSQL does not start; see {self.name}.log")

    def kill(self):
        """The postmaster with signal 9; its other processes end by themselves when they notice."""
        self.programs.end(self.process, signal.SIGKILL)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.programs.end(self.process, signal.SIGINT)

    def destroy(self):
        for _ in range(200):
            shutil.rmtree(self.data, ignore_errors=True)
            if not os.path.exists(self.data):
                return
            time.sleep(0.05)
        sys.exit(f"backup-drill: {self.data} cannot be deleted")

    def remove_sockets(self):
        shutil.rmtree(self.sockets, ignore_errors=True)

    def psql(self, database, *arguments):
        return self.run(
            self.program("psql"), "--no-psqlrc", "-v", "ON_ERROR_STOP=1", "-h", self.sockets, "-U", "postgres", "-d",
            database, *arguments)

    def rows(self, query):
        done = self.psql("till", "-Atqc", f"SELECT coalesce(json_agg(r), '[]') FROM ({query}) AS r")
        return [tuple(row.values()) for row in json.loads(done.stdout)]

    def finish_recovery(self):
        """Starts it, and waits until it has read the log to its end or its target."""
        self.start()
        for _ in range(1200):
            if self.rows("SELECT pg_is_in_recovery() AS recovers") == [(False,)]:
                return
            time.sleep(0.05)
        sys.exit(f"backup-drill: PostgreSQL does not end its recovery; see {self.name}.log")


class StreamedCopies:
    """pg_basebackup, and pg_receivewal from a slot: the log arrives as it is written."""

    settings = ""

    def __init__(self, cluster, directory):
        self.cluster = cluster
        self.base, self.log = (os.path.join(directory, name) for name in ("base", "log"))

    def follow(self):
        """Copies the log from now on. The slot keeps it until it was copied."""
        os.makedirs(self.log)
        give_away(self.log)
        receive = [self.cluster.program("pg_receivewal"), "-h", self.cluster.sockets, "-U", "postgres", "--slot=till"]
        self.cluster.run(*receive, "--create-slot", "--if-not-exists")
        self.receiver, _ = self.cluster.programs.start(
            "pg_receivewal", as_user(receive + ["-D", self.log, "--no-loop"]))
        for _ in range(600):
            if os.listdir(self.log):
                return
            time.sleep(0.1)
        sys.exit("backup-drill: pg_receivewal copies nothing; see pg_receivewal.log")

    def back_up(self):
        self.cluster.run(
            self.cluster.program("pg_basebackup"), "-h", self.cluster.sockets, "-U", "postgres", "-D", self.base,
            "--checkpoint=fast")

    def end(self):
        """It runs on another machine, so it outlives the disaster and ends when it loses its connection."""
        try:
            self.receiver.wait(30)
        except subprocess.TimeoutExpired:
            pass
        self.cluster.programs.end(self.receiver)

    def restore(self, cluster, moment=None):
        cluster.run("cp", "-a", self.base, cluster.data)
        # The newest piece of the log is not complete yet: its name says so.
        command = f'cp "{self.log}/%f" "%p" || cp "{self.log}/%f.partial" "%p"'
        target = f"recovery_target_time = '{moment}'\nrecovery_target_action = 'promote'\n" if moment else ""
        cluster.append("postgresql.auto.conf", f"restore_command = '{command}'\n{target}")
        cluster.append("recovery.signal", "")
        cluster.finish_recovery()


class ArchivedCopies:
    """pgBackRest, with the commands of docs/scaling.md: full backups, and each completed piece of the log."""

    def __init__(self, cluster, directory, archive_timeout):
        self.cluster, self.directory = cluster, directory
        self.file = os.path.join(directory, "pgbackrest.conf")
        self.settings = (
            "archive_mode = on\n"
            f"archive_command = 'pgbackrest --config={self.file} --stanza=till archive-push %p'\n"
            f"archive_timeout = {archive_timeout}\n")

    def follow(self):
        os.makedirs(self.directory, exist_ok=True)
        give_away(self.directory)
        places = {name: os.path.join(self.directory, name) for name in ("repository", "logs", "locks", "spool")}
        for path in places.values():
            os.makedirs(path)
            give_away(path)
        with open(self.file, "w") as file:
            file.write(
                f"[global]\nrepo1-path={places['repository']}\nlog-path={places['logs']}\n"
                f"lock-path={places['locks']}\nspool-path={places['spool']}\nrepo1-retention-full=2\n"
                "compress-type=zst\nstart-fast=y\n\n"
                f"[till]\npg1-path={self.cluster.data}\npg1-socket-path={self.cluster.sockets}\npg1-user=postgres\n"
                "pg1-database=postgres\n")
        self.command("stanza-create")
        self.command("check")

    def command(self, *arguments, cluster=None):
        (cluster or self.cluster).run("pgbackrest", f"--config={self.file}", "--stanza=till", *arguments)

    def back_up(self):
        self.command("--type=full", "backup")

    def end(self):
        pass

    def restore(self, cluster, moment=None):
        target = ["--type=time", f"--target={moment}", "--target-action=promote"] if moment else []
        os.makedirs(cluster.data, mode=0o700, exist_ok=True)
        give_away(cluster.data)
        # Another cluster than the one that archives must not write into its repository.
        target += ["--archive-mode=off"] if cluster is not self.cluster else []
        self.command(f"--pg1-path={cluster.data}", "--delta", *target, "restore", cluster=cluster)
        cluster.finish_recovery()
