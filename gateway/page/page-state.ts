import type { Logger } from "#daemon/log/log.ts";
import { poll } from "#daemon/time.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import { writeHeadline, type Headline } from "#status/headline.ts";
import { findIncidents, type Incident } from "#status/incident.ts";
import { createOutages, type Outages } from "#status/outages.ts";
import { servesTraffic, type Verdict } from "#status/verdict.ts";
import { createHistory, sampleEveryMs, type History, type HistorySources } from "./history.ts";

/** Interval at which the page records whether the node is serving. */
const recordIntervalMs = 1_000;

export type PageState = Readonly<{
  history: History;
  outages: Outages;
  /** Evaluates the current state and records it together with the outages. */
  read: () => Readonly<{ headline: Headline; incidents: readonly Incident[] }>;
}>;

export type PageStateSources = HistorySources & Readonly<{ board: ConditionBoard; verdict: () => Verdict }>;

/** Creates an empty state; {@link watchPageState} fills it. */
export function createPageState(sources: PageStateSources): PageState {
  const { board, verdict, clock } = sources;
  const outages = createOutages(clock);
  return {
    history: createHistory(sources),
    outages,
    read: () => {
      const conditions = board.list();
      const incidents = findIncidents(conditions);
      const headline = writeHeadline(verdict(), conditions, incidents);
      const isKnown = conditions.some(({ type }) => type === "RpcResponding");
      outages.note({ state: headline.state, serves: isKnown ? servesTraffic(conditions) : undefined });
      return { headline, incidents };
    },
  };
}

/** A failed sample leaves a gap in the history but does not affect the current state. */
const ignoreFailure = () => undefined;

export function watchPageState({ history, read }: PageState, { log }: Readonly<{ log: Logger }>): AsyncDisposable {
  const watches = new AsyncDisposableStack();
  watches.use(
    poll({ name: "page history", failed: ignoreFailure, intervalMs: sampleEveryMs }, () => history.sample(), { log }),
  );
  watches.use(
    poll({ name: "outages", failed: ignoreFailure, intervalMs: recordIntervalMs }, async () => void read(), { log }),
  );
  return watches;
}
