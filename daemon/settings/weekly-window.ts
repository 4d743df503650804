import { z } from "zod";

/** A time of the week in UTC that comes again: the days on which it begins, 0 for Sunday, its beginning and its length in minutes. */
export type WeeklyWindow = Readonly<{ days: readonly number[]; beginsAt: number; minutes: number }>;

const windowExample = 'days and hours in UTC such as "Sat,Sun 02:00-05:00", "Mon-Fri 22:00-02:00" or "02:00-04:00"';

/** Days and hours in UTC, as alert managers and clouds write their windows. */
export const weeklyWindow = z
  .string()
  .max(100)
  .refine((text) => parseWeeklyWindow(text) !== undefined)
  .meta({ expected: windowExample });

const dayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const shape =
  /^(?:(?<days>[a-z]{3}(?:[,-][a-z]{3})*) )?(?<from>[01]\d|2[0-3]):(?<fromMinute>[0-5]\d)-(?:(?<to>[01]\d|2[0-3]):(?<toMinute>[0-5]\d)|24:00)$/i;
const minutesADay = 24 * 60;

/** Reads a window; undefined if the text is not one. One that ends before it begins goes over midnight; without days it is there every day. */
export function parseWeeklyWindow(text: string): WeeklyWindow | undefined {
  const found = shape.exec(text)?.groups;
  if (found === undefined) return undefined;
  const days = parseDays(found["days"]);
  const beginsAt = computeMinute(found["from"], found["fromMinute"]);
  const endsAt = found["to"] === undefined ? minutesADay : computeMinute(found["to"], found["toMinute"]);
  if (days === undefined || beginsAt === endsAt) return undefined;
  return { days, beginsAt, minutes: (endsAt - beginsAt + minutesADay) % minutesADay || minutesADay };
}

function computeMinute(hour = "0", minute = "0"): number {
  return Number(hour) * 60 + Number(minute);
}

function parseDays(text: string | undefined): readonly number[] | undefined {
  if (text === undefined) return dayNames.map((_, day) => day);
  const days = new Set<number>();
  for (const part of text.toLowerCase().split(",")) {
    const [first = -1, last = first, ...more] = part.split("-").map((name) => dayNames.indexOf(name));
    if (first < 0 || last < 0 || more.length > 0) return undefined;
    for (let day = first; ; day = (day + 1) % dayNames.length) {
      days.add(day);
      if (day === last) break;
    }
  }
  return [...days].toSorted((a, b) => a - b);
}
