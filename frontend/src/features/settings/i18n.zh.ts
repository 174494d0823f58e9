export default {
  title: "设置",
  language: "语言",
  languageNote: "随账户保存",
  look: "外观",
  lookNote: "保存在本浏览器",
  theme: { system: "跟随系统", light: "浅色", dark: "深色" },
  keys: "快捷键",
  search: "搜索",
  zone: "时间",
  zoneNote: "时间按本浏览器的时区显示：{{zone}}。",
};
