/** Settings, or sections, removed since earlier versions, and the replacement of each, as in "use b.c instead". */
export type RemovedSettings = Readonly<Record<string, string>>;

export function explainRemovedSetting(instead: string): string {
  return `was removed: ${instead}; remove it`;
}
