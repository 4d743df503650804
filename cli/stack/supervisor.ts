import { pause } from "#daemon/time.ts";
import {
  startChildService,
  type ChildService,
  type ChildServiceOptions,
  type ChildServiceSpec,
} from "./child-service.ts";

/** Limits on restarts of a crashing service: `restartsMax` within `windowMs`, each after `pauseMs`. */
export type RestartLimits = Readonly<{ restartsMax: number; windowMs: number; pauseMs: number }>;

export type PrintEvent = (line: string) => void;

/**
 * Starts a service, and restarts it after an unexpected exit, up to `restartsMax` times in `windowMs`. Disposing of the result stops the
 * currently running service.
 */
export async function supervise(
  spec: ChildServiceSpec,
  options: ChildServiceOptions & RestartLimits,
  { announce }: Readonly<{ announce: PrintEvent }>,
): Promise<ChildService> {
  const first = await startChildService(spec, options);
  const stopController = new AbortController();
  const signal = AbortSignal.any([stopController.signal, options.signal]);
  let currentService: ChildService | undefined = first;
  const watch = async (): Promise<void> => {
    const restarts: number[] = [];
    let how = await first.exited;
    for (;;) {
      currentService = undefined;
      if (signal.aborted) return;
      const now = performance.now();
      restarts.push(now);
      if (restarts.filter((at) => now - at < options.windowMs).length > options.restartsMax) {
        announce(
          `${spec.name} exited with ${how} again and is not restarted. Check ${options.logDirectory}/${spec.name}.log`,
        );
        return;
      }
      announce(`${spec.name} exited with ${how}; restarting it`);
      await pause(options.pauseMs, signal);
      if (signal.aborted) return;
      try {
        currentService = await startChildService(spec, { ...options, signal });
      } catch (error) {
        if (signal.aborted) return;
        how = `a failed start: ${error instanceof Error ? error.message : String(error)}`;
        continue;
      }
      announce(`${spec.name} is ready again after ${currentService.readyAfterMs} ms`);
      how = await currentService.exited;
    }
  };
  const watchLoop = watch().catch((error: unknown) => {
    if (!signal.aborted) announce(error instanceof Error ? error.message : String(error));
  });
  return {
    ...first,
    [Symbol.asyncDispose]: async () => {
      stopController.abort();
      await currentService?.[Symbol.asyncDispose]();
      await watchLoop;
    },
  };
}

type Started<Starts extends readonly Promise<AsyncDisposable>[]> = {
  -readonly [K in keyof Starts]: Awaited<Starts[K]>;
};

export type PartGroup = AsyncDisposable &
  Readonly<{
    /** Adds parts that start in parallel. If one fails, keeps the others and throws its error. */
    start: <const Starts extends readonly Promise<AsyncDisposable>[]>(starts: Starts) => Promise<Started<Starts>>;
  }>;

/** Creates an empty group. Disposal stops all its parts in parallel and reports every failure. */
export function createPartGroup(): PartGroup {
  const parts: AsyncDisposable[] = [];
  return {
    start: async <const Starts extends readonly Promise<AsyncDisposable>[]>(starts: Starts) => {
      const results = await Promise.allSettled(starts);
      parts.push(...results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : [])));
      const failedResult = results.find((result) => result.status === "rejected");
      if (failedResult !== undefined) throw failedResult.reason;
      return results.map((result) => (result as PromiseFulfilledResult<AsyncDisposable>).value) as Started<Starts>;
    },
    [Symbol.asyncDispose]: async () => {
      const results = await Promise.allSettled(parts.map((part) => part[Symbol.asyncDispose]()));
      const reasons = results.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
      if (reasons.length > 0) throw new AggregateError(reasons, "some services did not stop cleanly");
    },
  };
}
