// Cores and memory of a host: booked and measured.
import { useTranslation } from "react-i18next";
import type { NodeDetail } from "@/api/types";
import { count, decimal, gib, memory, withUnit } from "@/lib/format";
import { LevelScale } from "./LevelScale";

const MIB_PER_GIB = 1024;

export function CoreLevel({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  const used = node.reading?.cpu_used_milli ?? null;
  const figure = (value: number): string => withUnit(Number.isInteger(value) ? count(value) : decimal(value, 1), t("nodes.coreUnit"));
  return (
    <LevelScale
      isHost label={t("nodes.cores")} total={node.cpu_count} booked={node.booked.cores} measured={used === null ? null : used / 1000}
      unit={t("nodes.coreUnit")} figure={figure} axis={{ per: 1, text: (value) => (Number.isInteger(value) ? count(value) : decimal(value, 1)) }}
    />
  );
}

export function MemoryLevel({ node }: { node: NodeDetail }) {
  const { t } = useTranslation();
  return (
    <LevelScale
      isHost label={t("nodes.memory")} total={node.memory_mib} booked={node.booked.memory_mib} measured={node.reading?.memory_used_mib ?? null}
      unit="GiB" figure={(mib) => (mib === 0 ? withUnit(0, "GiB") : memory(mib))} axis={{ per: MIB_PER_GIB, text: gib }}
    />
  );
}
