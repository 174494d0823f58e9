// The rows of the images.
import { Link } from "@tanstack/react-router";
import { useTranslation } from "react-i18next";
import type { Image } from "@/api/images";
import { count, duration, memory, percent } from "@/lib/format";
import { Known, None } from "@/ui/Words";
import { hitRate } from "./search";

export function ImageTable({ images, days }: { images: readonly Image[]; days?: number }) {
  const { t } = useTranslation();
  return (
    <div className="scroll">
      <table style={{ minWidth: 920 }}>
        <thead>
          <tr>
            <th>{t("images.image")}</th><th className="r">{t("images.size")}</th><th className="r">{t("images.nodes")}</th><th className="r">{t("images.wanted")}</th>
            <th className="r">{t("images.fetched")}</th><th className="r">{t("images.starts")}</th><th className="r">{t("images.hitRate")}</th>
            <th className="r">{t("images.fetch")} P50</th><th className="r">P95</th><th className="r">P99</th>
          </tr>
        </thead>
        <tbody>{images.map((image) => <Row key={image.id} image={image} days={days} />)}</tbody>
      </table>
    </div>
  );
}

function Row({ image, days }: { image: Image; days?: number }) {
  const rate = hitRate(image);
  const marks = image.pull_ms;
  return (
    <tr className="go">
      <td style={{ overflowWrap: "anywhere" }}><Link to="/images/$id" params={{ id: image.id }} search={days ? { days } : {}} className="med">{image.name}</Link></td>
      <td className="r nw"><Known value={image.size_mib} format={memory} /></td>
      <td className="r">{count(image.nodes)}</td>
      <td className="r">{count(image.wanted)}</td>
      <td className="r">{count(image.fetched)}</td>
      <td className="r">{count(image.starts)}</td>
      <td className="r nw">{rate == null ? <None /> : percent(rate)}</td>
      {(["p50", "p95", "p99"] as const).map((mark) => <td key={mark} className="r nw">{marks == null ? <None /> : duration(marks[mark])}</td>)}
    </tr>
  );
}
