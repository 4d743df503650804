/** A resource that a rule does not apply to, for a time. */
export type RuleException = Readonly<{
  rule: string;
  /** The resource's name in the Pulumi program. */
  resource: string;
  reason: string;
  /** Last day of the exception, `YYYY-MM-DD`, in UTC. */
  expires: string;
}>;

/** How an exception bears on a finding. */
export type Bearing = Readonly<{ excused: boolean; note: string | undefined }>;

/** Whether an exception excuses a resource from a rule today; an expired one says so, so that nobody wonders. */
export function bearingOf(
  exceptions: readonly RuleException[],
  { rule, resource, today }: Readonly<{ rule: string; resource: string; today: Date }>,
): Bearing {
  const found = exceptions.find((exception) => exception.rule === rule && exception.resource === resource);
  if (found === undefined) return { excused: false, note: undefined };
  const day = today.toISOString().slice(0, 10);
  if (found.reason.trim() === "")
    return { excused: false, note: "its exception gives no reason, so it does not count" };
  if (!/^\d{4}-\d{2}-\d{2}$/.test(found.expires)) {
    return {
      excused: false,
      note: `its exception expires "${found.expires}", which is no YYYY-MM-DD, so it does not count`,
    };
  }
  if (day > found.expires)
    return { excused: false, note: `its exception (${found.reason}) expired on ${found.expires}` };
  return { excused: true, note: undefined };
}
