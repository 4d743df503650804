import { DatabaseSync } from "node:sqlite";
import { accelerate, accelerateWaits } from "./accelerated-waits.ts";

/** Loaded before a service (`--import`), with `waits` and `times` in its query; see `accelerateService`. */
const { searchParams } = new URL(import.meta.url);
const waitsMs = (searchParams.get("waits") ?? "").split(",").map(Number);
const accelerated = { waitsMs, times: Number(searchParams.get("times")) };

accelerateWaits(accelerated);

const seen = new WeakSet<DatabaseSync>();
const { exec } = DatabaseSync.prototype;
/** Runs before a database's first statement, because the wait is passed to a function that can't be replaced. */
DatabaseSync.prototype.exec = function execHastened(sql: string) {
  if (!seen.has(this)) {
    seen.add(this);
    const { timeout } = this.prepare("PRAGMA busy_timeout").get() as { timeout: number };
    exec.call(this, `PRAGMA busy_timeout = ${accelerate(timeout, accelerated)}`);
  }
  exec.call(this, sql);
};
