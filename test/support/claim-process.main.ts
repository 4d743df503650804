import { pino } from "pino";
import { readSettings } from "#daemon/settings/settings.ts";
import { sidecarSettings } from "#sidecar/settings.ts";
import { claimState } from "#sidecar/upkeep/claim/claim-state.ts";
import { armKillPoint } from "./kill-points.ts";

/** Claims the state specified by the environment's settings, and is killed right before the step given as argument. */
await armKillPoint(Number(process.argv[2]));
using _ = await claimState(readSettings(sidecarSettings, { env: process.env }), {
  log: pino({ level: "silent" }),
  userStateDirectory: "/nonexistent",
  signal: new AbortController().signal,
});
