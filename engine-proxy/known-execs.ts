/** Most execs that are remembered; a caller that made more has lost interest in the oldest. */
const execsMax = 256;

/** The execs that this proxy made: only they may be started or inspected through it. */
export type KnownExecs = Readonly<{ add(id: string): void; has(id: string): boolean }>;

/** Makes an empty, bounded memory of execs. */
export function knownExecs(): KnownExecs {
  const ids = new Set<string>();
  return {
    add(id) {
      ids.add(id);
      const [oldest] = ids;
      if (ids.size > execsMax && oldest !== undefined) ids.delete(oldest);
    },
    has: (id) => ids.has(id),
  };
}
