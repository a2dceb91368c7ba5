"""`mocose jobs`: the work for a GPU that is lent for minutes, piece by piece."""

from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from .options import Data


@dataclass(frozen=True)
class Jobs(Data):
    """The work for a GPU that is lent for minutes: lists it, or makes a piece of it."""

    INTERRUPTED = "the same command goes on from here"
    name: Positional[str] = ""  # Of a job; default: the first that is not done.
    run: bool = False  # Makes a piece of it.
    seconds: int = 540  # After these the piece is interrupted.
    out: Path = Path("jobs")  # Folder for what it has made, at most 64 MiB.
    workers: int | None = None  # Processes side by side; default: one a core.
    steps: int | None = None  # Of each training, to try a job out in a folder apart.
    take: Path | None = None  # Puts what lies in such a folder in its place.
    carry: Path | None = None  # Copies the data that the job reads into this folder.

    def main(self) -> None:
        from mocose_study.config import choose
        from mocose_study.runs import jobs

        if self.take:
            return print(f"{len(jobs.take(self.take))} files are in their place")
        if self.steps:
            jobs.try_out()
        states = list(jobs.states(self.steps))
        waiting = [name for name, done, total, _ in states if done < total]
        name = self.name or "".join(waiting[:1])
        if name:
            choose(jobs.JOBS, name, "job")
        if self.carry and name:
            print(f"{name}: {jobs.carry(name, self.carry) / 2**20:.1f} MiB")
        elif self.run and name:
            self.make(name, jobs)
        else:
            self.list(states, waiting)

    def make(self, name: str, jobs) -> None:
        from mocose_study.bench import bench

        how = {"workers": self.workers, "bench": bench}
        for file in jobs.make(name, self.seconds, self.out, self.steps, **how):
            print(f"{file} is too large to go out, and stays here")
        self.list([row for row in jobs.states(self.steps) if row[0] == name], [])

    def list(self, states: list, waiting: list[str]) -> None:
        for name, done, total, seconds in states:
            left = (
                f", {seconds / 3600:.1f} hours of one process left" if seconds else ""
            )
            then = "  <- next" if waiting[:1] == [name] else ""
            print(f"{name:16}{done:4} of {total:4} done{left}{then}")
