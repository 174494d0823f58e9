export default {
  title: "策略",
  reading: "正在读取策略",
  activeSince: "版本 {{number}}，{{at}} 起生效，{{by}}",
  system: "系统",
  document: "生效文档",
  readOnly: "只读；新版本通过 API 提交",
  tryIt: "假设改变某个权重…",
  versions: "版本",
  number: "版本", author: "作者", reason: "原因", at: "写入时间",
  inForce: "生效中",
};
