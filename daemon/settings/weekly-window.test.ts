import { expect, test } from "vitest";
import { parseWeeklyWindow, weeklyWindow } from "./weekly-window.ts";

test.each([
  ["02:00-04:30", { days: [0, 1, 2, 3, 4, 5, 6], beginsAt: 120, minutes: 150 }],
  ["Sat,Sun 02:00-05:00", { days: [0, 6], beginsAt: 120, minutes: 180 }],
  ["mon-fri 22:00-02:00", { days: [1, 2, 3, 4, 5], beginsAt: 1_320, minutes: 240 }],
  ["Fri-Mon,Wed 00:00-24:00", { days: [0, 1, 3, 5, 6], beginsAt: 0, minutes: 1_440 }],
  ["Sat 23:00-00:00", { days: [6], beginsAt: 1_380, minutes: 60 }],
])("%s is a window", (text, window) => {
  expect(parseWeeklyWindow(text)).toEqual(window);
  expect(weeklyWindow.safeParse(text).success).toBe(true);
});

test.each(["", "02:00", "25:00-26:00", "02:00-02:00", "Sab 02:00-03:00", "Mon-Tue-Wed 02:00-03:00", "Mon  2:00-3:00"])(
  "%j is no window",
  (text) => {
    expect(parseWeeklyWindow(text)).toBeUndefined();
    expect(weeklyWindow.safeParse(text).success).toBe(false);
  },
);
